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
    /// All sections, in the order of the template.
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

    /// Returns the number of the section, from 1.
    pub(super) const fn number(self) -> usize {
        self as usize + 1
    }

    /// Returns the title of the template.
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Purpose => "Tool Purpose and Description",
            Self::InvocationName => "Invocation Name",
            Self::InputSchema => "Input Schema (Parameters)",
            Self::OutputSchema => "Output Schema (Return Value)",
            Self::ErrorHandling => "Error Handling",
            Self::Idempotency => "Idempotency",
            Self::Examples => "Usage Examples",
            Self::Security => "Security Considerations",
        }
    }

    /// Returns the shorter titles that are accepted, in lower case.
    const fn short_titles(self) -> &'static [&'static str] {
        match self {
            Self::Purpose => &["purpose and description", "purpose", "description"],
            Self::InvocationName => &["name"],
            Self::InputSchema => &["input", "parameters"],
            Self::OutputSchema => &["output", "return value"],
            Self::ErrorHandling => &["errors"],
            Self::Idempotency => &[],
            Self::Examples => &["examples"],
            Self::Security => &["security"],
        }
    }

    /// Returns the section with this title, with or without what stands in brackets. Upper and lower case are the same.
    pub(super) fn titled(title: &str) -> Option<Self> {
        let title = bare(title);
        Self::ALL
            .into_iter()
            .find(|kind| title == bare(kind.title()) || kind.short_titles().contains(&title.as_str()))
    }
}

fn bare(title: &str) -> String {
    let title = title.split('(').next().unwrap_or_default();
    title.trim().trim_end_matches(':').to_lowercase()
}
