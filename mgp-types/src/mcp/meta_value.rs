//! Typed values of `_meta`, so that both ends write and read the same key.

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::Meta;
use crate::{Error, RawJson, Request};

/// A value of `_meta` and its key.
///
/// The client and the server share the type, so that neither spells the key and the shape for itself:
///
/// ```
/// use mgp_types::mcp::{Meta, MetaValue};
///
/// #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
/// struct Tenant {
///     name: String,
/// }
///
/// impl MetaValue for Tenant {
///     const KEY: &'static str = "com.example/tenant";
/// }
///
/// let mut meta = Meta::new();
/// meta.set(&Tenant { name: "blue".into() })?;
/// assert_eq!(meta.get("com.example/tenant").unwrap().to_string(), r#"{"name":"blue"}"#);
/// assert_eq!(meta.value::<Tenant>()?, Some(Tenant { name: "blue".into() }));
/// # Ok::<(), serde_json::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no key in `_meta`",
    label = "not a `MetaValue`",
    note = "write `impl MetaValue for {Self} {{ const KEY: &'static str = \"your.domain/name\"; }}`",
    note = "and derive `serde::Serialize` and `serde::Deserialize` for it"
)]
pub trait MetaValue: Serialize + DeserializeOwned {
    /// The key: a name under a domain of the vendor, like `com.example/tenant`. MCP reserves the `mcp` and
    /// `modelcontextprotocol` domains.
    const KEY: &'static str;
}

impl Meta {
    /// Sets the value of the type `T`.
    ///
    /// # Errors
    /// The value's own `Serialize` refuses, or a map key in it is not a string.
    pub fn set<T: MetaValue>(&mut self, value: &T) -> Result<(), serde_json::Error> {
        self.insert(T::KEY, RawJson::from_value(value)?);
        Ok(())
    }

    /// Returns the value of the type `T`; `None` if there is none.
    ///
    /// # Errors
    /// The value under the key has another shape.
    pub fn value<T: MetaValue>(&self) -> Result<Option<T>, serde_json::Error> {
        self.read(T::KEY)
    }
}

impl Request {
    /// Returns the value of the type `T` in the request's `_meta`; `None` if there is none.
    ///
    /// # Errors
    /// -32602: the value under the key has another shape.
    pub fn meta_value<T: MetaValue>(&self) -> Result<Option<T>, Error> {
        let read = self.meta(T::KEY).map(|raw| raw.to()).transpose();
        read.map_err(|error| Error::invalid_params(format!("`{}` in `_meta`: {error}", T::KEY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Object, code};

    #[derive(Debug, PartialEq, serde::Serialize, serde::Deserialize)]
    struct Depth(u8);

    impl MetaValue for Depth {
        const KEY: &'static str = "com.example/depth";
    }

    fn request(params: &'static str) -> Request {
        Request::call("tools/call", Object::parse(params).unwrap())
    }

    #[test]
    fn a_request_without_the_value_has_none() {
        for params in ["{}", r#"{"_meta":{}}"#, r#"{"_meta":7}"#] {
            assert_eq!(request(params).meta_value::<Depth>().unwrap(), None, "{params}");
        }
        let given = request(r#"{"_meta":{"com.example/depth":3}}"#);
        assert_eq!(given.meta_value().unwrap(), Some(Depth(3)));
    }

    #[test]
    fn a_value_of_another_shape_is_refused_by_its_key() {
        let error = request(r#"{"_meta":{"com.example/depth":"deep"}}"#).meta_value::<Depth>().unwrap_err();
        assert_eq!(error.code(), code::INVALID_PARAMS);
        assert!(error.message().contains("com.example/depth"), "{error}");
    }
}
