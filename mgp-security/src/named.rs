//! Enums whose variants text files call by names.

/// A thing that text files call by a name.
pub(crate) trait Named: Copy + PartialEq + 'static {
    /// All such things, each with its name.
    const NAMES: &'static [(&'static str, Self)];

    /// Returns the thing that is called `name`.
    #[cfg(feature = "validate")]
    fn named(name: &str) -> Option<Self> {
        Self::NAMES.iter().find(|(own, _)| *own == name).map(|(_, one)| *one)
    }

    /// Returns the name of the thing.
    #[cfg(feature = "validate")]
    fn name(self) -> &'static str {
        Self::NAMES.iter().find(|(_, own)| *own == self).map_or("", |(name, _)| *name)
    }
}

/// Defines an enum whose variants have names in text files.
macro_rules! named {
    ($(#[$about:meta])* $vis:vis enum $Enum:ident { $($(#[$doc:meta])* $name:literal => $Variant:ident,)* }) => {
        $(#[$about])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        $vis enum $Enum {
            $($(#[$doc])* $Variant,)*
        }

        impl $crate::named::Named for $Enum {
            const NAMES: &'static [(&'static str, Self)] = &[$(($name, Self::$Variant)),*];
        }
    };
}
pub(crate) use named;
