//! Code safety (MGP §7): checks of submitted code by lists of modules and names, and by its size.
//!
//! [`scan`] checks code against a [`CodePolicy`], which combines a declaration
//! ([`CodeSafety`](mgp_types::mgp::CodeSafety)) with lists for the language. Python and JavaScript are read by queries
//! of their syntax trees, so comments and string literals are no findings and spacing does not matter; shell scripts are
//! judged like commands; other languages are searched for pieces of code, and the [`Scan`] says which method was used.
//!
//! The check does not understand code: it misses a name that is put together at run time. The check keeps mistakes out
//! and tells a model what to write instead. It is no sandbox, and a person is asked before code runs.
//!
//! ```
//! use mgp_security::code_safety::{CodePolicy, scan};
//! use mgp_types::mgp::{CodeSafety, SafetyLevel};
//!
//! let policy = CodePolicy::new(&CodeSafety::new(SafetyLevel::Standard).with_language("python"));
//! assert!(scan("import codecs  # not: import socket", &policy).is_ok());
//! let rejection = scan("from os import system as s\ns('id')", &policy).unwrap_err();
//! assert_eq!(rejection.violations, ["Blocked pattern: 'os.system'".into()]);
//! assert_eq!(rejection.locations[0].line, 1);
//! ```

mod finding;
mod grammar;
mod language;
mod names;
mod pattern;
mod policy;
mod scan;
#[cfg(test)]
mod tests;

use self::finding::Findings;
use self::grammar::{CodeFacts, Grammar};
pub use self::language::Language;
use self::names::NAMES;
use self::pattern::{Pattern, Token, blanked, find_declared, plain, tokens_of};
pub use self::policy::CodePolicy;
pub use self::scan::{Import, Method, Scan, scan};
