//! The look at the declaration of a tool and at its sections.

use mgp_types::ext::DottedName;

use super::ToolLint;
use crate::tool_spec::document::{Section, SpecDocument};
use crate::tool_spec::finding::SpecRule;

use crate::tool_spec::section::SectionKind;
use crate::tool_spec::version::ToolVersion;

impl ToolLint<'_> {
    pub(super) fn declaration(&mut self, earlier: Option<(&SpecDocument, usize)>) {
        let (line, name) = (self.tool.line, &self.tool.name);
        if !self.tool.is_quoted {
            self.error(
                SpecRule::Declaration,
                line,
                "the name does not stand between backticks",
                "write ## Tool: `module.tool`",
            );
        }
        if DottedName::read(name).is_none() {
            let what = format!("`{name}` is not an invocation name");
            let help = "write module.tool in lower-case letters, digits and underscores";
            self.error(SpecRule::InvocationName, line, what, help);
        }
        if let Some((document, earlier)) = earlier {
            let what = format!("`{name}` was declared before, in {}:{earlier}", document.file.display());
            self.error(SpecRule::InvocationName, line, what, "give one of the two tools another name");
        }
        let Some(section) = self.tool.section(SectionKind::InvocationName) else { return };
        let said = section.texts().next().map(|(line, text)| {
            let quoted = text.split('`').nth(1);
            (line, quoted.unwrap_or(text).to_owned())
        });
        match said {
            None => self.error(
                SpecRule::InvocationName,
                section.line,
                "the section is empty",
                format!("write `{name}`"),
            ),
            Some((line, said)) if said != *name => {
                let what = format!("the invocation name `{said}` is not that of the heading, `{name}`");
                self.error(SpecRule::InvocationName, line, what, "write the same name in both places");
            }
            Some(_) => {}
        }
    }

    /// Checks that the eight sections are there once, in their order, and with their numbers if they have any.
    pub(super) fn sections(&mut self) {
        let mut before: Option<SectionKind> = None;
        let mut seen = Vec::new();
        for section in &self.tool.sections {
            let Some(kind) = section.kind else {
                self.unknown(section);
                continue;
            };
            let title = kind.title();
            if seen.contains(&kind) {
                self.error(
                    SpecRule::Sections,
                    section.line,
                    format!("the section \"{title}\" is there twice"),
                    "put the two together",
                );
                continue;
            }
            seen.push(kind);
            if section.number.is_some_and(|number| number != kind.number()) {
                let what = format!("the section \"{title}\" has the number {}", kind.number());
                self.error(
                    SpecRule::Sections,
                    section.line,
                    what,
                    format!("write ### {}. {title}", kind.number()),
                );
            }
            if let Some(before) = before.filter(|before| *before > kind) {
                let what = format!("the section \"{title}\" stands behind \"{}\"", before.title());
                self.error(
                    SpecRule::Sections,
                    section.line,
                    what,
                    "put the sections into the order of their numbers",
                );
            }
            before = before.max(Some(kind));
        }
        for kind in SectionKind::ALL {
            if !seen.contains(&kind) {
                let what = format!("the section \"{}\" is missing", kind.title());
                let help = format!("add ### {}. {}", kind.number(), kind.title());
                self.error(SpecRule::Sections, self.tool.line, what, help);
            }
        }
    }

    /// Checks a section that is none of the eight. It may be there, but not with one of their numbers.
    fn unknown(&mut self, section: &Section) {
        let taken = section.number.and_then(|number| SectionKind::ALL.get(number.checked_sub(1)?));
        if let Some(kind) = taken {
            let what = format!("section {} is not \"{}\"", kind.number(), section.title);
            self.error(
                SpecRule::Sections,
                section.line,
                what,
                format!("write ### {}. {}", kind.number(), kind.title()),
            );
        }
    }

    pub(super) fn purpose(&mut self) {
        if let Some(section) = self.tool.section(SectionKind::Purpose)
            && self.tool.purpose().is_empty()
        {
            let help = "say what the tool does, what it is for, and what to know before a call";
            self.error(SpecRule::Purpose, section.line, "the section is empty", help);
        }
    }

    pub(super) fn version(&mut self) {
        let help = "write **Version**: 1.0.0 below the heading of the tool";
        match self.tool.version() {
            None => self.error(SpecRule::Version, self.tool.line, "the tool declares no version", help),
            Some((line, version)) => {
                if let Err(error) = version.parse::<ToolVersion>() {
                    self.error(SpecRule::Version, line, format!("`{version}` is {error}"), help);
                }
            }
        }
    }
}
