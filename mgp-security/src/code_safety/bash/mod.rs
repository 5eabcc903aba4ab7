//! Bash.
use super::finding::Findings;
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Tree};
pub(super) const READINGS: &[Reading] = &[(Grammar::Bash, "", "")];
pub(super) fn check(_tree: &Tree, _policy: &CodePolicy, _findings: &mut Findings) {}
