//! The macro for enums that list their variants.

/// Defines an enum of variants without values, with the array `ALL` of them.
///
/// ```text
/// listed! {
///     /// Documentation.
///     pub enum Name: 2 {
///         /// Documentation.
///         One,
///         /// Documentation.
///         Other,
///     }
/// }
/// ```
macro_rules! listed {
    ($(#[$about:meta])* $shown:vis enum $name:ident: $count:literal { $($(#[$doc:meta])* $variant:ident,)+ }) => {
        $(#[$about])*
        $shown enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All values, in their order.
            $shown const ALL: [Self; $count] = [$(Self::$variant,)+];
        }
    };
}
pub(crate) use listed;
