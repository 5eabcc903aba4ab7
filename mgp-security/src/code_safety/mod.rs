//! Code safety (MGP §7): checks of submitted code, based on its syntax tree.
//!
//! [`scan`] checks code against a [`CodePolicy`], which combines a declaration
//! ([`CodeSafety`](mgp_types::mgp::CodeSafety)) with what is always dangerous in the language. Python, JavaScript,
//! TypeScript and Bash are read as syntax trees, so comments and string literals are no findings and spelling does not
//! matter; other languages are searched for patterns, and the [`Scan`] says which method was used.
//!
//! A check of code is no sandbox: it keeps mistakes and known tricks out of an environment that must be confined as
//! well.
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

mod bash;
mod finding;
mod javascript;
mod language;
mod meaning;
mod names;
mod path_text;
mod pattern;
mod policy;
mod python;
mod rules;
mod scan;
mod syntax;
#[cfg(test)]
mod tests;

use self::finding::Findings;
pub use self::language::Language;
use self::meaning::{Evaluation, Meaning, Paths};
use self::names::Lists;
use self::pattern::{Pattern, Token, blanked, find_declared, plain, split_tokens, tokens_of, tree_tokens};
pub use self::policy::CodePolicy;
use self::scan::{CodeReading, check_other};
pub use self::scan::{Import, Method, Scan, scan};
use self::syntax::{Grammar, Known, Node, Tree};
