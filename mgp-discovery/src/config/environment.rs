/// Where variables come from: the process has some, and a test has its own.
pub trait Environment {
    /// The value of a variable, if it is set.
    fn variable(&self, name: &str) -> Option<String>;
}

/// The environment of this process. A variable that is not UTF-8 counts as not set.
#[derive(Debug, Clone, Copy, Default)]
#[expect(clippy::exhaustive_structs, reason = "there is one environment")]
pub struct ProcessEnvironment;

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        std::env::var(name).ok()
    }
}

impl<F: Fn(&str) -> Option<String>> Environment for F {
    fn variable(&self, name: &str) -> Option<String> {
        self(name)
    }
}
