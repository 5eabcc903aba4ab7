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

/// All sections in the order of the template: each with its title, and with the shorter ones that are accepted.
const SECTIONS: [(SectionKind, &str, &[&str]); 8] = [
    (
        SectionKind::Purpose,
        "Tool Purpose and Description",
        &["purpose and description", "purpose", "description"],
    ),
    (SectionKind::InvocationName, "Invocation Name", &["name"]),
    (SectionKind::InputSchema, "Input Schema (Parameters)", &["input", "parameters"]),
    (SectionKind::OutputSchema, "Output Schema (Return Value)", &["output", "return value"]),
    (SectionKind::ErrorHandling, "Error Handling", &["errors"]),
    (SectionKind::Idempotency, "Idempotency", &[]),
    (SectionKind::Examples, "Usage Examples", &["examples"]),
    (SectionKind::Security, "Security Considerations", &["security"]),
];

impl SectionKind {
    /// Returns all sections, in the order of the template.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        SECTIONS.into_iter().map(|(kind, ..)| kind)
    }

    /// Returns the section with this number, from 1.
    pub(super) fn numbered(number: usize) -> Option<Self> {
        Self::all().nth(number.checked_sub(1)?)
    }

    /// Returns the number of the section, from 1.
    pub(super) const fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns the title of the template.
    pub(super) const fn title(self) -> &'static str {
        SECTIONS[self as usize].1
    }

    /// Returns the section with this title, with or without what stands in brackets. Upper and lower case are the same.
    pub(super) fn titled(title: &str) -> Option<Self> {
        let title = bare(title);
        let is_titled = |full: &str, short: &[&str]| title == bare(full) || short.contains(&title.as_str());
        SECTIONS.into_iter().find(|(_, full, short)| is_titled(full, short)).map(|(kind, ..)| kind)
    }
}

fn bare(title: &str) -> String {
    let title = title.split('(').next().unwrap_or_default();
    title.trim().trim_end_matches(':').to_lowercase()
}
