//! Macros for what layers and services have in the same form.

/// Implements `Layer` of a type whose service is generic over the inner one alone.
///
/// ```
/// use tower_layer::Layer as _;
///
/// struct CountLayer(u32);
///
/// struct Count<S> {
///     inner: S,
///     first: u32,
/// }
///
/// mgp_types::layer!(CountLayer, self, inner => Count { inner, first: self.0 });
///
/// let service = CountLayer(1).layer("echo");
/// assert_eq!((service.inner, service.first), ("echo", 1));
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! layer {
    ($layer:ident, $this:ident, $inner:ident => $service:ident { $($fields:tt)* }) => {
        impl<S> ::tower_layer::Layer<S> for $layer {
            type Service = $service<S>;

            fn layer(&$this, $inner: S) -> $service<S> {
                $service { $($fields)* }
            }
        }
    };
}

/// Implements what all services of requests do that stand in front of an `inner` one: their answers and errors are of the same
/// types, and they are ready when it is. The capacity is that of the inner service; a refusal is an answer. A field with
/// another name is named in the parentheses.
///
/// ```
/// use mgp_types::{Request, RpcService};
/// use tower_service::Service;
///
/// struct Passing<S> {
///     inner: S,
/// }
///
/// impl<S: RpcService> Service<Request> for Passing<S> {
///     type Future = S::Future;
///
///     mgp_types::ready_as_inner!();
///
///     fn call(&mut self, request: Request) -> S::Future {
///         self.inner.call(request)
///     }
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! ready_as_inner {
    () => {
        $crate::ready_as_inner!(inner);
    };
    ($inner:ident) => {
        type Response = $crate::Response;
        type Error = $crate::Error;

        fn poll_ready(
            &mut self,
            cx: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::result::Result<(), $crate::Error>> {
            ::tower_service::Service::<$crate::Request>::poll_ready(&mut self.$inner, cx)
        }
    };
}

/// Implements what all services of requests do that take every request at once.
///
/// ```
/// use mgp_types::{Error, Request, Response};
/// use tower_service::Service;
///
/// struct Silent;
///
/// impl Service<Request> for Silent {
///     type Future = std::future::Ready<Result<Response, Error>>;
///
///     mgp_types::always_ready!();
///
///     fn call(&mut self, _: Request) -> Self::Future {
///         std::future::ready(Ok(Response::empty()))
///     }
/// }
/// ```
#[doc(hidden)]
#[macro_export]
macro_rules! always_ready {
    () => {
        type Response = $crate::Response;
        type Error = $crate::Error;

        fn poll_ready(
            &mut self,
            _: &mut ::std::task::Context<'_>,
        ) -> ::std::task::Poll<::std::result::Result<(), $crate::Error>> {
            ::std::task::Poll::Ready(Ok(()))
        }
    };
}
