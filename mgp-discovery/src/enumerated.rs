//! The macro for enums whose values can be gone through.

/// Defines an enum with `ALL`, its values in their order.
macro_rules! enumerated {
    (
        $(#[$attribute:meta])*
        $visibility:vis enum $name:ident { $($(#[$doc:meta])* $variant:ident,)+ }
    ) => {
        $(#[$attribute])*
        $visibility enum $name {
            $($(#[$doc])* $variant,)+
        }

        impl $name {
            /// All values, in their order.
            $visibility const ALL: [Self; [$(stringify!($variant)),+].len()] = [$(Self::$variant),+];
        }
    };
}
pub(crate) use enumerated;
