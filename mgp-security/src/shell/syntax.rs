//! The small syntax that shell text is read into: what can run, in what order, fed by what.

/// Where something stands in the whole text, in bytes. All of a substitution in backticks stands where that does: it is
/// read from a copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) start: usize,
    pub(crate) end: usize,
}

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
    pub(crate) span: Span,
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
    pub(crate) span: Span,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    /// `<`.
    In,
    /// `<>`.
    Both,
    /// `>`, `>>`, `&>` and their like.
    Out,
    /// `2>&1`: from one descriptor to another.
    Duplicate,
    /// `<<<`: the target is the text itself.
    Text,
    /// `<<`: the target is the body of the document.
    Document,
}

/// A word before expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) parts: Vec<Part>,
    pub(crate) span: Span,
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

/// One thing that a [walk](Script::walk) comes by.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'s> {
    Pipeline(&'s Pipeline),
    Stage(&'s Stage),
    /// A word, or the value of an assignment.
    Word(&'s Word),
}

impl Script {
    /// Shows `see` every pipeline, stage and word, also those in substitutions; the whole before its parts.
    pub(crate) fn walk<'s>(&'s self, see: &mut dyn FnMut(Item<'s>)) {
        for pipeline in &self.pipelines {
            see(Item::Pipeline(pipeline));
            pipeline.stages.iter().for_each(|stage| stage.walk(see));
        }
    }
}

impl Stage {
    fn walk<'s>(&'s self, see: &mut dyn FnMut(Item<'s>)) {
        see(Item::Stage(self));
        for redirect in &self.redirects {
            match redirect.direction {
                Direction::Document => walk_parts(&redirect.target.parts, see),
                _ => redirect.target.walk(see),
            }
        }
        match &self.body {
            Body::Simple(simple) => {
                simple.assignments.iter().for_each(|assignment| assignment.value.walk(see));
                simple.words.iter().for_each(|word| word.walk(see));
            }
            Body::Group(scripts) => scripts.iter().for_each(|script| script.walk(see)),
            Body::For { values, body, .. } => {
                for value in values {
                    value.walk(see);
                }
                body.walk(see);
            }
            Body::Loop { condition, body } => {
                condition.walk(see);
                body.walk(see);
            }
            Body::Function { body, .. } => body.walk(see),
        }
    }
}

impl Word {
    /// Returns the text of the word, if nothing in it is filled in when it runs; patterns and braces stay as they are.
    pub(crate) fn text(&self) -> Option<String> {
        text_of(&self.parts)
    }

    fn walk<'s>(&'s self, see: &mut dyn FnMut(Item<'s>)) {
        see(Item::Word(self));
        walk_parts(&self.parts, see);
    }
}

/// Returns the text of `parts`, if nothing in them is filled in when they run.
pub(crate) fn text_of(parts: &[Part]) -> Option<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Bare(plain) | Part::Single(plain) | Part::Ansi { text: plain, .. } => text.push_str(plain),
            Part::Escaped(c) => text.push(*c),
            Part::Continuation => {}
            Part::Double(inner) => text.push_str(&text_of(inner)?),
            _ => return None,
        }
    }
    Some(text)
}

fn walk_parts<'s>(parts: &'s [Part], see: &mut dyn FnMut(Item<'s>)) {
    for part in parts {
        match part {
            Part::Double(inner) | Part::Arithmetic(inner) | Part::Variable { operator: Some(inner), .. } => {
                walk_parts(inner, see);
            }
            Part::Command(script) | Part::Process(script) => script.walk(see),
            Part::Array(words) => words.iter().for_each(|word| word.walk(see)),
            _ => {}
        }
    }
}
