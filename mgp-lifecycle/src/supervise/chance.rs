use std::fmt;
use std::sync::Arc;

/// Where random numbers come from. Nothing secret is made of them.
#[derive(Clone)]
pub(super) struct Chance(Arc<dyn Fn() -> u32 + Send + Sync>);

impl Chance {
    /// Numbers of the system. One that has none gives all its servers the same waits.
    pub(super) fn system() -> Self {
        Self::new(|| getrandom::u32().unwrap_or(u32::MAX / 2))
    }

    pub(super) fn new(draw: impl Fn() -> u32 + Send + Sync + 'static) -> Self {
        Self(Arc::new(draw))
    }

    pub(super) fn draw(&self) -> u32 {
        (self.0)()
    }
}

impl fmt::Debug for Chance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chance")
    }
}
