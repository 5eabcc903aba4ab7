//! The lists of names that the rules for JavaScript use: `names.txt` and `modules.txt`, read once.

use crate::code_safety::names::Names;

/// The modules that start processes, run code, reach into the runtime or use the network below HTTP.
pub(in crate::code_safety) static BLOCKED_MODULES: Names = modules("blocked");
/// The modules that compute, read what they are given, or use HTTP; a scope stands for all of its packages.
pub(in crate::code_safety) static ALLOWED_MODULES: Names = modules("allowed");
/// The global names that run code or give access to the internals of objects.
pub(super) static DANGEROUS_GLOBALS: Names = list("dangerous-globals");
/// The members that lead from any object to its constructor or prototype, or to code.
pub(super) static DANGEROUS_MEMBERS: Names = list("dangerous-members");
/// The members that plain code has no use for.
pub(super) static STRICT_MEMBERS: Names = list("strict-members");
/// The built-in constructors, whose prototypes all code shares.
pub(super) static BUILTIN_CLASSES: Names = list("builtin-classes");
/// The members of `process` that say where code runs, or are its input and output.
pub(super) static PROCESS_MEMBERS: Names = list("process-members");
/// The global names that plain code has no use for: those that open connections other than HTTP, start threads, or give
/// access to the internals of objects.
pub(super) static STRICT_GLOBALS: Names = list("strict-globals");
/// The names of the global object.
pub(super) static GLOBAL_OBJECTS: Names = list("global-objects");
/// The sources of data that only the user and the operator should see, as code writes them.
pub(super) static SENSITIVE: Names = list("sensitive");
/// The classes whose methods are commonly borrowed: `Object.prototype.hasOwnProperty.call(x, y)`.
pub(super) static PLAIN_CLASSES: Names = list("plain-classes");
/// The prefixes of variables that make other programs load or run something.
pub(super) static STEERING: Names = list("steering");
/// The prefixes of paths to the code's own files, also by the short names that projects give their folders.
pub(super) static OWN: Names = list("own");
/// The words that honest code has no reason to put together from pieces.
pub(super) static HIDDEN_WORDS: Names = list("hidden-words");
/// The endings of names of clients whose `delete` is a request.
pub(super) static CLIENTS: Names = list("clients");
/// The functions and methods that write.
pub(super) static WRITING: Names = list("writing");

const fn modules(section: &'static str) -> Names {
    Names::new(include_str!("modules.txt"), section)
}

const fn list(section: &'static str) -> Names {
    Names::new(include_str!("names.txt"), section)
}
