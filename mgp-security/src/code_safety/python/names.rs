//! The lists of names that the rules for Python ask: `names.txt` and `modules.txt`, read once.

use crate::code_safety::names::Names;

/// Modules that no code may import, by what they do.
pub(in crate::code_safety) static BLOCKED_MODULES: Names = modules("blocked");
/// Parts of blocked modules that only read what was installed, what is on the machine, or what they are given.
pub(in crate::code_safety) static EXEMPT_MODULES: Names = modules("exempt");
/// Blocked modules whose import alone is no offence, for every use of a part that is not exempt is found by itself.
pub(in crate::code_safety) static BLOCKED_IN_PARTS: Names = modules("blocked-in-parts");
/// Modules that are allowed where no list of them is declared.
pub(in crate::code_safety) static ALLOWED_MODULES: Names = modules("allowed");
/// Names that people give the parts of their own programs.
pub(super) static OWN_MODULES: Names = modules("own");

/// Names that run code, start processes or reach into the interpreter, wherever the module came from: blocked from
/// standard on. An entry stands for everything below it.
pub(super) static DANGEROUS: Names = list("dangerous");
/// Names that change what is outside of the code, give its surroundings away, open connections or run something later:
/// blocked from strict on.
pub(super) static STRICT: Names = list("strict");
/// Modules that other modules have among their names.
pub(super) static HIDDEN_MODULES: Names = list("hidden-modules");
/// Modules that hand out power as values: naming one without taking a member of it hides what is done with it.
pub(super) static POWERFUL: Names = list("powerful");
/// Modules that pieces of programs use without showing the import.
pub(super) static WELL_KNOWN: Names = list("well-known");
/// Builtins that rules ask for by their path.
pub(super) static BUILTINS: Names = list("builtins");
/// Builtins whose arguments decide, so that they must be called where they are named.
pub(super) static ACCESSORS: Names = list("accessors");
/// Beginnings of the names of variables by which other programs are made to load or run something.
pub(super) static STEERING: Names = list("steering");
/// What of a code object says where it is from and what its parameters are.
pub(super) static DESCRIPTIONS: Names = list("descriptions");
/// Methods by which a literal is compared and searched; nobody writes `().__class__` but for what it leads to.
pub(super) static OF_LITERALS: Names = list("of-literals");
/// Attributes that lead to frames, code, and what is global to a function.
pub(super) static WALKS: Names = list("walks");
/// Attributes that plain code has no use for, though libraries do.
pub(super) static INNER: Names = list("inner");
/// Attributes that lead from a class to its bases.
pub(super) static TYPE_WALKS: Names = list("type-walks");
/// Attributes of a class that say no more than what it is, or make an instance.
pub(super) static PLAIN_OF_CLASS: Names = list("plain-of-class");
/// Methods that start a process or load a module, of whatever object.
pub(super) static LAUNCHERS: Names = list("launchers");
/// Attributes of types and functions that are looked up without harm, though nothing sets them.
pub(super) static READABLE: Names = list("readable");
/// Functions that read the file that their first argument names.
pub(super) static READERS: Names = list("readers");
/// Functions that make files or folders vanish or appear under a name.
pub(super) static MOVERS: Names = list("movers");
/// Builtins that ask their argument for elements until there are none.
pub(super) static ENDLESS_CONSUMERS: Names = list("endless-consumers");
/// Names that belong to the interpreter or to everyone.
pub(super) static SET_NEVER: Names = list("set-never");
/// Functions that open a file by its path.
pub(super) static OPENERS: Names = list("openers");
/// Names of `os` that change a file or the process.
pub(super) static OS_WRITES: Names = list("os-writes");
/// Methods that write, of whatever object.
pub(super) static WRITING_METHODS: Names = list("writing-methods");
/// Attributes of a class or function that texts may hold.
pub(super) static DESCRIBING: Names = list("describing");
/// Encodings in which code reads as it was checked.
pub(super) static ENCODINGS: Names = list("encodings");
/// Words that nobody has a reason to put together from pieces.
pub(super) static HIDDEN_WORDS: Names = list("hidden-words");

const fn modules(section: &'static str) -> Names {
    Names::new(include_str!("modules.txt"), section)
}

const fn list(section: &'static str) -> Names {
    Names::new(include_str!("names.txt"), section)
}
