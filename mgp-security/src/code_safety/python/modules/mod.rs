//! Which modules code may import.

mod blocked;
mod own;
mod packages;
mod standard;

pub(in super::super) use self::blocked::{BLOCKED_IN_PARTS, BLOCKED_MODULES, EXEMPT_MODULES};
pub(in super::super) use self::own::is_own;

/// The modules that are allowed where no list of them is declared.
pub(in super::super) const ALLOWED_MODULES: &[&str] = &[standard::COMPUTES, packages::PACKAGES];
