//! The eight sections of the template.

/// A section of the template.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum SectionKind {
    Purpose,
    InvocationName,
    InputSchema,
    OutputSchema,
    ErrorHandling,
    Idempotency,
    Examples,
    Security,
}

impl SectionKind {
    /// The sections in the order of the template, which is that of `sections.txt`.
    pub(super) const ALL: [Self; 8] = [
        Self::Purpose,
        Self::InvocationName,
        Self::InputSchema,
        Self::OutputSchema,
        Self::ErrorHandling,
        Self::Idempotency,
        Self::Examples,
        Self::Security,
    ];

    /// Returns the titles of the section: that of the template, and the shorter ones that are accepted.
    fn titles(self) -> impl Iterator<Item = &'static str> {
        include_str!("sections.txt").lines().nth(self as usize).unwrap_or_default().split(" | ")
    }

    /// Returns the section with this number, from 1.
    pub(super) fn numbered(number: usize) -> Option<Self> {
        Self::ALL.into_iter().nth(number.checked_sub(1)?)
    }

    /// Returns the number of the section, from 1.
    pub(super) const fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns the title of the template.
    pub(super) fn title(self) -> &'static str {
        self.titles().next().unwrap_or_default()
    }

    /// Returns the section with this title, with or without what stands in brackets. Upper and lower case are the same.
    pub(super) fn titled(title: &str) -> Option<Self> {
        let title = bare(title);
        Self::ALL.into_iter().find(|section| section.titles().any(|known| bare(known) == title))
    }
}

fn bare(title: &str) -> String {
    let title = title.split('(').next().unwrap_or_default();
    title.trim().trim_end_matches(':').to_lowercase()
}
