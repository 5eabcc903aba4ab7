//! The syntax tree of shell text: the commands that can run, their order, and the sources of their input.

/// A range of bytes in the whole text. Everything in a substitution in backticks has the span of the substitution,
/// because it is read from a copy.
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

/// Commands joined by `|`. A single command is a pipeline too.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Pipeline {
    pub(crate) stages: Vec<Stage>,
    /// True if the pipeline ends in `&`, and so runs in parallel with the following one.
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
    /// One program with its arguments.
    Simple(Simple),
    /// `{ .. }`, `( .. )`, or the branches of `if` and `case`, all of which may run.
    Group(Script),
    /// `for variable in values`. Without values, the loop runs over the arguments of the script.
    For { variable: String, values: Vec<Word>, body: Script },
    /// A loop with `while` or `until`.
    Loop { condition: Script, body: Script },
    /// The definition of a function, which runs nothing yet.
    Function { name: String, body: Script },
}

/// A simple command: assignments and words, which become one program and its arguments.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Simple {
    pub(crate) assignments: Vec<Assignment>,
    pub(crate) words: Vec<Word>,
    /// The command as it was written, for command interpreters with other quoting rules.
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
    /// `<`, input from a file.
    In,
    /// `<>`, input from and output to a file.
    Both,
    /// `>`, `>>`, `&>` and similar operators, output to a file.
    Out,
    /// `2>&1`, a copy of one descriptor to another.
    Duplicate,
    /// `<<<`, a here-string: the target is the text itself.
    Text,
    /// `<<`, a here-document: the target is its body.
    Document,
}

impl Direction {
    /// Returns whether the command can write to the target.
    pub(crate) const fn writes(self) -> bool {
        matches!(self, Self::Out | Self::Both)
    }
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
    /// One character after a backslash.
    Escaped(char),
    /// A line end after a backslash, which the shell removes.
    Continuation,
    /// Text in single quotes.
    Single(String),
    /// The decoded text of `$'..'`, and whether it wrote plain characters as numbers to hide them.
    Ansi { text: String, hidden: bool },
    /// The parts of text in double quotes.
    Double(Vec<Self>),
    /// `$name`, `${name}` or `${name<operator>}`. The operator is kept as separate parts.
    Variable { name: String, operator: Option<Vec<Self>> },
    /// A command substitution, `$( .. )` or in backticks.
    Command(Script),
    /// A process substitution, `<( .. )` or `>( .. )`.
    Process(Script),
    /// `$(( .. ))`, with the substitutions in it.
    Arithmetic(Vec<Self>),
    /// An array, as in `name=( .. )`.
    Array(Vec<Word>),
}

/// One element that a [walk](Script::walk) visits.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Item<'s> {
    Pipeline(&'s Pipeline),
    Stage(&'s Stage),
    /// A word, or the value of an assignment.
    Word(&'s Word),
}

impl Script {
    /// Visits every pipeline, stage and word, those in substitutions included; an element comes before its parts.
    pub(crate) fn walk<'s>(&'s self, see: &mut dyn FnMut(Item<'s>)) {
        for pipeline in &self.pipelines {
            see(Item::Pipeline(pipeline));
            pipeline.stages.iter().for_each(|stage| stage.walk(see));
        }
    }

    /// Returns the names of all commands; `None` for names that are not known.
    pub(crate) fn commands(&self) -> Vec<Option<String>> {
        let mut names = Vec::new();
        self.walk(&mut |item| {
            if let Item::Stage(Stage { body: Body::Simple(simple), .. }) = item {
                names.extend(simple.words.first().map(Word::text));
            }
        });
        names
    }

    /// Returns whether anything runs beside the rest.
    pub(crate) fn runs_beside(&self) -> bool {
        let mut beside = false;
        self.walk(&mut |item| beside |= matches!(item, Item::Pipeline(pipeline) if pipeline.background));
        beside
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
            Body::Group(body) | Body::Function { body, .. } => body.walk(see),
        }
    }
}

impl Word {
    /// Returns the text of the word if nothing in it is substituted at run time. Patterns and braces stay as they are.
    pub(crate) fn text(&self) -> Option<String> {
        text_of(&self.parts)
    }

    pub(crate) fn walk<'s>(&'s self, see: &mut dyn FnMut(Item<'s>)) {
        see(Item::Word(self));
        walk_parts(&self.parts, see);
    }
}

/// Returns the text of `parts` if nothing in them is substituted at run time.
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
