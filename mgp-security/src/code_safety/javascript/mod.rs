//! JavaScript.
use super::finding::Findings;
use super::policy::CodePolicy;
use super::scan::Reading;
use super::syntax::{Grammar, Tree};
pub(super) const BLOCKED_MODULES: &[&str] = &[];
pub(super) const ALLOWED_MODULES: &[&str] = &[];
pub(super) const JAVASCRIPT: &[Reading] = &[(Grammar::JavaScript, "", "")];
pub(super) const TYPESCRIPT: &[Reading] = &[(Grammar::TypeScript, "", "")];
pub(super) fn check(_tree: &Tree, _policy: &CodePolicy, _findings: &mut Findings) {}
