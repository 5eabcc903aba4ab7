//! The small syntax we read a command line into: what can run, in what order, fed by what.

/// A sequence of pipelines, as in a file, a group or a substitution.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Script {
    pub(crate) pipelines: Vec<Pipeline>,
}

/// Commands joined by `|`; one command is a pipeline too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
    /// Whether it ends in `&`, and so runs beside what follows.
    pub(crate) background: bool,
}

/// One stage of a pipeline.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Stage {
    pub(crate) body: Body,
    pub(crate) redirects: Vec<Redirect>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Body {
    Simple(Simple),
    /// `{ .. }`, `( .. )`, and the branches of `if` and `case`, which all may run.
    Group(Vec<Script>),
    /// `for variable in values`; without values it walks over the arguments of the script.
    For {
        variable: String,
        values: Vec<Word>,
        body: Script,
    },
    /// `while` and `until`.
    Loop {
        condition: Script,
        body: Script,
    },
    Function {
        name: String,
        body: Script,
    },
}

/// Assignments and words: what becomes one program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    /// As it was written, for command interpreters that quote in other ways.
    pub(crate) source: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Assignment {
    pub(crate) name: String,
    pub(crate) value: Word,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Redirect {
    pub(crate) direction: Direction,
    pub(crate) target: Word,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `<` and `<>`.
    In,
    /// `>`, `>>`, `&>` and their like.
    Out,
    /// `2>&1`: from one descriptor to another.
    Duplicate,
    /// `<<` and `<<<`: the target is the text itself.
    Text,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Part {
    /// Unquoted text, in which braces, tildes and patterns are active.
    Bare(String),
    /// One character behind a backslash.
    Escaped(char),
    /// A line end behind a backslash, which the shell removes.
    Continuation,
    /// Text in single quotes.
    Single(String),
    /// Text in `$'..'`, decoded; hidden if plain characters were written as numbers.
    Ansi {
        text: String,
        hidden: bool,
    },
    Double(Vec<Self>),
    /// `$name`, `${name}` and `${name<operator>}`; the parts of the operator are kept apart.
    Variable {
        name: String,
        operator: Option<Vec<Self>>,
    },
    /// `$( .. )` and backticks.
    Command(Script),
    /// `<( .. )` and `>( .. )`.
    Process(Script),
    /// `$(( .. ))`, with what is substituted in it.
    Arithmetic(Vec<Self>),
    /// `name=( .. )`.
    Array(Vec<Word>),
}
