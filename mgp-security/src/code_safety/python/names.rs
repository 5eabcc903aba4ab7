//! The lists of names that the rules for Python use: `names.txt` and `modules.txt`, read once.

use crate::code_safety::names::Names;

/// The modules that no code may import, because of what they do.
pub(in crate::code_safety) static BLOCKED_MODULES: Names = modules("blocked");
/// The parts of blocked modules that only read what was installed, what is on the machine, or what they are given.
pub(in crate::code_safety) static EXEMPT_MODULES: Names = modules("exempt");
/// The blocked modules whose import alone is allowed, because every use of a part that is not exempt is found by
/// itself.
pub(in crate::code_safety) static BLOCKED_IN_PARTS: Names = modules("blocked-in-parts");
/// The modules that are allowed if no list of them is declared.
pub(in crate::code_safety) static ALLOWED_MODULES: Names = modules("allowed");
/// The names that people give the parts of their own programs.
pub(super) static OWN_MODULES: Names = modules("own");

/// The names that run code, start processes or reach into the interpreter, wherever the module came from: blocked from
/// standard on. An entry stands for everything below it.
pub(super) static DANGEROUS: Names = list("dangerous");
/// The names that change what is outside of the code, disclose its environment, open connections or run something
/// later: blocked from strict on.
pub(super) static STRICT: Names = list("strict");
/// The modules that other modules have among their names.
pub(super) static HIDDEN_MODULES: Names = list("hidden-modules");
/// The modules whose value gives access to dangerous functions: using one without taking a member hides what is done
/// with it.
pub(super) static POWERFUL: Names = list("powerful");
/// The modules that pieces of programs use without showing the import.
pub(super) static WELL_KNOWN: Names = list("well-known");
/// The builtins that rules look up by their path.
pub(super) static BUILTINS: Names = list("builtins");
/// The builtins whose arguments decide, so that they must be called where they are named.
pub(super) static ACCESSORS: Names = list("accessors");
/// The prefixes of variables that make other programs load or run something.
pub(super) static STEERING: Names = list("steering");
/// The attributes of a code object that say where it is from and what its parameters are.
pub(super) static DESCRIPTIONS: Names = list("descriptions");
/// The methods by which a literal is compared and searched; other attributes, as in `().__class__`, are used only for
/// what they lead to.
pub(super) static OF_LITERALS: Names = list("of-literals");
/// The attributes that lead to frames, code, and the globals of a function.
pub(super) static WALKS: Names = list("walks");
/// The attributes that plain code has no use for, though libraries do.
pub(super) static INNER: Names = list("inner");
/// The attributes that lead from a class to its bases.
pub(super) static TYPE_WALKS: Names = list("type-walks");
/// The attributes of a class that only describe it, or make an instance.
pub(super) static PLAIN_OF_CLASS: Names = list("plain-of-class");
/// The methods that start a process or load a module, of any object.
pub(super) static LAUNCHERS: Names = list("launchers");
/// The attributes of types and functions that may be looked up without harm, but not set.
pub(super) static READABLE: Names = list("readable");
/// The functions that read the file that their first argument names.
pub(super) static READERS: Names = list("readers");
/// The functions that make files or folders vanish or appear under a name.
pub(super) static MOVERS: Names = list("movers");
/// The builtins that ask their argument for elements until there are none.
pub(super) static ENDLESS_CONSUMERS: Names = list("endless-consumers");
/// The names that belong to the interpreter or to all code, and must not be set.
pub(super) static SET_NEVER: Names = list("set-never");
/// The functions that open a file by its path.
pub(super) static OPENERS: Names = list("openers");
/// The names of `os` that change a file or the process.
pub(super) static OS_WRITES: Names = list("os-writes");
/// The methods that write, of any object.
pub(super) static WRITING_METHODS: Names = list("writing-methods");
/// The attributes of a class or function that format strings may contain.
pub(super) static DESCRIBING: Names = list("describing");
/// The encodings in which the interpreter reads the same code as the check.
pub(super) static ENCODINGS: Names = list("encodings");
/// The words that honest code has no reason to put together from pieces.
pub(super) static HIDDEN_WORDS: Names = list("hidden-words");

const fn modules(section: &'static str) -> Names {
    Names::new(include_str!("modules.txt"), section)
}

const fn list(section: &'static str) -> Names {
    Names::new(include_str!("names.txt"), section)
}
