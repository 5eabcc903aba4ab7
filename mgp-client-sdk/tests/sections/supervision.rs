pub(crate) const TESTS: &[crate::runner::Test] = &[];
