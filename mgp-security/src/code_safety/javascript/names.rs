//! The lists of names that the rules for JavaScript ask: `names.txt` and `modules.txt`, read once.

use crate::code_safety::names::Names;

/// Modules that start processes, run code, reach into the runtime or talk to the network below HTTP.
pub(in crate::code_safety) static BLOCKED_MODULES: Names = modules("blocked");
/// Modules that compute, read what they are given, or speak HTTP; a scope stands for all of its packages.
pub(in crate::code_safety) static ALLOWED_MODULES: Names = modules("allowed");
/// Global names that run code or reach behind objects.
pub(super) static DANGEROUS_GLOBALS: Names = list("dangerous-globals");
/// Members that lead from an object to what makes it, or to code, whatever the object is.
pub(super) static DANGEROUS_MEMBERS: Names = list("dangerous-members");
/// Members that plain code has no use for.
pub(super) static STRICT_MEMBERS: Names = list("strict-members");
/// Constructors that are given with the language, whose prototypes belong to everyone.
pub(super) static BUILTIN_CLASSES: Names = list("builtin-classes");
/// Members of `process` that say where code runs, or are its input and output.
pub(super) static PROCESS_MEMBERS: Names = list("process-members");
/// Global names that plain code has no use for: what opens connections other than HTTP, starts threads, or reaches
/// behind objects.
pub(super) static STRICT_GLOBALS: Names = list("strict-globals");
/// Names of the object that has all global names.
pub(super) static GLOBAL_OBJECTS: Names = list("global-objects");
/// Sources of what only the user and the operator should see, as code writes them.
pub(super) static SENSITIVE: Names = list("sensitive");
/// Classes whose methods are commonly borrowed: `Object.prototype.hasOwnProperty.call(x, y)`.
pub(super) static PLAIN_CLASSES: Names = list("plain-classes");
/// Beginnings of the names of variables by which other programs are made to load or run something.
pub(super) static STEERING: Names = list("steering");
/// How paths to the code's own files begin, also by the short names that projects give their folders.
pub(super) static OWN: Names = list("own");
/// Words that nobody has a reason to put together from pieces.
pub(super) static HIDDEN_WORDS: Names = list("hidden-words");
/// Ends of the names of clients whose `delete` is a request.
pub(super) static CLIENTS: Names = list("clients");
/// Functions and methods that write.
pub(super) static WRITING: Names = list("writing");

const fn modules(section: &'static str) -> Names {
    Names::new(include_str!("modules.txt"), section)
}

const fn list(section: &'static str) -> Names {
    Names::new(include_str!("names.txt"), section)
}
