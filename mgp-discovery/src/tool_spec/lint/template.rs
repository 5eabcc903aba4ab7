//! The look at the declaration of a tool and at its sections.

use mgp_types::ext::DottedName;
use mgp_types::mgp::Version;

use super::ToolLint;
use crate::tool_spec::document::{SectionKind, SpecDocument};
use crate::tool_spec::finding::SpecRule;

impl ToolLint<'_> {
    pub(super) fn declaration(&mut self, earlier: Option<(&SpecDocument, usize)>) {
        let (line, name) = (self.tool.line, &self.tool.name);
        if !self.tool.is_quoted {
            self.error(SpecRule::Declaration, line, "the name does not stand between backticks");
        }
        if DottedName::read(name).is_none() {
            self.error(SpecRule::InvocationName, line, format!("`{name}` is not an invocation name"));
        }
        if let Some((document, earlier)) = earlier {
            let what = format!("`{name}` was declared before, in {}:{earlier}", document.file.display());
            self.error(SpecRule::InvocationName, line, what);
        }
        let Some(section) = self.tool.section(SectionKind::InvocationName) else { return };
        match section.texts().next().map(|(line, text)| (line, text.split('`').nth(1).unwrap_or(text))) {
            None => self.error(SpecRule::InvocationName, section.line, "the section is empty"),
            Some((line, said)) if said != *name => {
                let what = format!("the invocation name `{said}` is not that of the heading, `{name}`");
                self.error(SpecRule::InvocationName, line, what);
            }
            Some(_) => {}
        }
    }

    /// Checks that the eight sections are there once, in their order, and with their numbers if they have any. A section
    /// that is none of the eight may be there, but not with one of their numbers.
    pub(super) fn sections(&mut self) {
        let mut seen: Vec<SectionKind> = Vec::new();
        for section in &self.tool.sections {
            let Some(kind) = section.kind else {
                if let Some(kind) = section.number.and_then(SectionKind::numbered) {
                    let (number, title) = (kind.number(), kind.title());
                    let what = format!("section {number} is not \"{}\", but \"{title}\"", section.title);
                    self.error(SpecRule::Sections, section.line, what);
                }
                continue;
            };
            let title = kind.title();
            if seen.contains(&kind) {
                let what = format!("the section \"{title}\" is there twice");
                self.error(SpecRule::Sections, section.line, what);
                continue;
            }
            if section.number.is_some_and(|number| number != kind.number()) {
                let what = format!("the section \"{title}\" has the number {}", kind.number());
                self.error(SpecRule::Sections, section.line, what);
            }
            if let Some(before) = seen.iter().max().filter(|before| **before > kind) {
                let what = format!("the section \"{title}\" stands behind \"{}\"", before.title());
                self.error(SpecRule::Sections, section.line, what);
            }
            seen.push(kind);
        }
        for kind in SectionKind::ALL.into_iter().filter(|kind| !seen.contains(kind)) {
            let what = format!("the section \"{}\" is missing", kind.title());
            self.error(SpecRule::Sections, self.tool.line, what);
        }
    }

    pub(super) fn purpose(&mut self) {
        if let Some(section) = self.tool.section(SectionKind::Purpose)
            && self.tool.purpose().is_empty()
        {
            self.error(SpecRule::Purpose, section.line, "the section is empty");
        }
    }

    pub(super) fn version(&mut self) {
        match self.tool.version() {
            None => self.error(SpecRule::Version, self.tool.line, "the tool declares no version"),
            Some((line, version)) => {
                if let Err(error) = Version::strict(version) {
                    self.error(SpecRule::Version, line, format!("`{version}` is {error}"));
                }
            }
        }
    }
}
