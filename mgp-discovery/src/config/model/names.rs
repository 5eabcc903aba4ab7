use std::collections::BTreeMap;
use std::fmt;

/// A table whose `Debug` output shows the keys and hides the values, because a value may be a secret.
pub(super) struct Names<'a>(pub(super) &'a BTreeMap<String, String>);

impl fmt::Debug for Names<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self.0.keys().map(|name| (name, format_args!("***")))).finish()
    }
}
