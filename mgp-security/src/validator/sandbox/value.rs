//! The facts that are known of an argument, and of data that flows through a pipe.

/// The placeholder in a text for a part that is only known when the command runs.
pub(super) const HOLE: char = '\0';

/// An argument after expansion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Arg {
    /// The text, with a [`HOLE`] for each part that cannot be known.
    pub(super) text: String,
    pub(super) marks: Marks,
}

impl Arg {
    pub(super) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), marks: Marks::NONE }
    }

    pub(super) fn is_known(&self) -> bool {
        !self.text.contains(HOLE) && !self.marks.has(Marks::PATTERN)
    }

    pub(super) fn is_option(&self) -> bool {
        self.text.len() > 1 && self.text.starts_with('-')
    }
}

/// Facts about a text besides its content.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Marks(u32);

impl Marks {
    pub(super) const NONE: Self = Self(0);
    /// The text contains an unquoted pattern that file names replace.
    pub(super) const PATTERN: Self = Self(1);
    /// The text was made by cutting, replacing or decoding.
    pub(super) const CRAFTED: Self = Self(1 << 1);
    /// The text names a file that another process fills: `<( .. )`.
    pub(super) const PROCESS: Self = Self(1 << 2);
    /// The text tells something about this machine, its user or its files.
    pub(super) const TELLING: Self = Self(1 << 3);
    /// The text came over the network.
    pub(super) const FETCHED: Self = Self(1 << 4);
    /// The text is spelled in pieces that only a shell puts together.
    pub(super) const PIECES: Self = Self(1 << 5);
    /// The text is the set-up code that a program prints for its own shell integration.
    pub(super) const SETUP: Self = Self(1 << 6);
    /// The text never ends by itself.
    pub(super) const ENDLESS: Self = Self(1 << 7);
    /// The text holds data that must not leave the machine: the environment, the history, the list of accounts.
    pub(super) const SENSITIVE: Self = Self(1 << 8);
    /// The text names all files of a tree, without a selection among them.
    pub(super) const EVERYTHING: Self = Self(1 << 9);
    /// The text is the whole of a file that existed before.
    pub(super) const FILE: Self = Self(1 << 11);
    /// The text came out of a variable.
    pub(super) const NAMED: Self = Self(1 << 12);
    /// The text holds many files or records of this machine at once.
    pub(super) const BULK: Self = Self(1 << 14);
    /// The text tells which processes are the kernel's.
    pub(super) const KERNEL: Self = Self(1 << 15);
    /// The text names something that a build or an installation creates again.
    pub(super) const REBUILT: Self = Self(1 << 16);
    /// The text uses the field separator in place of a blank.
    pub(super) const GLUED: Self = Self(1 << 10);

    pub(super) const fn has(self, mark: Self) -> bool {
        self.0 & mark.0 != 0
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns these marks if the condition holds, and none otherwise.
    pub(super) const fn when(self, holds: bool) -> Self {
        if holds { self } else { Self::NONE }
    }

    pub(super) const fn without(self, mark: Self) -> Self {
        Self(self.0 & !mark.0)
    }

    pub(super) fn add(&mut self, mark: Self) {
        *self = self.and(mark);
    }
}

/// The output or the input of a command.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Flow {
    pub(super) text: Text,
    pub(super) marks: Marks,
}

/// The known part of the text of a [`Flow`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum Text {
    /// No data flows: the command has the same input as its caller.
    #[default]
    Absent,
    Known(String),
    Unknown,
}

impl Flow {
    pub(super) fn known(text: impl Into<String>) -> Self {
        Self { text: Text::Known(text.into()), marks: Marks::NONE }
    }

    pub(super) const fn unknown(marks: Marks) -> Self {
        Self { text: Text::Unknown, marks }
    }

    pub(super) fn is_fed(&self) -> bool {
        self.text != Text::Absent
    }

    /// Appends `next` to this flow.
    pub(super) fn then(&mut self, next: Self) {
        self.marks.add(next.marks);
        self.text = match (std::mem::take(&mut self.text), next.text) {
            (Text::Absent, other) | (other, Text::Absent) => other,
            (Text::Known(mut first), Text::Known(second)) if first.len() + second.len() <= MAX_TEXT => {
                first.push_str(&second);
                Text::Known(first)
            }
            _ => Text::Unknown,
        };
    }
}

/// The largest length in bytes of a text that is followed through pipes.
const MAX_TEXT: usize = 1 << 16;
