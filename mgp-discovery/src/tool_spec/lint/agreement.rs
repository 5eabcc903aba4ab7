//! The look at what a document has to agree with: the definition of the tool, and the document before.

use mgp_types::mgp::ChangeClass;

use super::ToolLint;
use crate::config::{Severity, nearest};
use crate::tool_spec::ToolDiff;
use crate::tool_spec::document::{Block, Section, SectionKind};
use crate::tool_spec::finding::SpecRule;
use crate::tool_spec::interface::{ToolInterface, is_same_tool};

impl ToolLint<'_> {
    /// Compares the document with the definition of the tool.
    pub(super) fn definition(&mut self) {
        let (line, name) = (self.tool.line, &self.tool.name);
        let Some(definition) = self.definitions.iter().find(|tool| is_same_tool(tool.name(), name)) else {
            let near = nearest(name, self.definitions.iter().map(ToolInterface::name));
            let near = near.map(|near| format!(": did you mean `{near}`?")).unwrap_or_default();
            return self.error(SpecRule::Definition, line, format!("no tool `{name}` is defined{near}"));
        };
        let documented = ToolInterface::documented(self.tool);
        for change in documented.changes_since(&definition.completed()) {
            let is_interface =
                change.at.starts_with("/inputSchema/") || change.at.starts_with("/outputSchema/");
            if is_interface && change.class != ChangeClass::Documentation {
                let what = format!("the document differs from the definition: {}", change.what);
                self.at(Severity::Error, SpecRule::Definition, line, change.at, what);
            }
        }
        if let (Some(said), Some(hint)) = (documented.idempotent, definition.idempotent)
            && said != hint
        {
            let section = self.tool.section(SectionKind::Idempotency).map_or(line, |section| section.line);
            let what =
                format!("the document says {said}, and `idempotentHint` of the definition says {hint}");
            self.error(SpecRule::Idempotency, section, what);
        }
        let security = self.tool.section(SectionKind::Security);
        let is_named = |permission: &&String| security.is_some_and(|section| section.contains(permission));
        for permission in definition.permissions.iter().filter(|permission| !is_named(permission)) {
            let what = format!("the section does not name the permission `{permission}` of the definition");
            self.error(SpecRule::Security, security.map_or(line, |section| section.line), what);
        }
    }

    /// Checks that the version announces what changed, and that there is a guide for a new major version.
    pub(super) fn changes(&mut self) {
        let Some(old) = self.since.iter().find(|old| is_same_tool(old.name(), &self.tool.name)) else {
            return;
        };
        let new = ToolInterface::documented(self.tool);
        let diff = ToolDiff::of(old, &new);
        let line = self.tool.version().map_or(self.tool.line, |(line, _)| line);
        if let (false, Some(version), Some(least), Some(change)) =
            (diff.is_announced, diff.new_version, diff.least_version, diff.changes.first())
        {
            let class = change.class.as_str();
            let what =
                format!("{version} does not announce a {class} change, as {least} does: {}", change.what);
            self.error(SpecRule::VersionBump, line, what);
        }
        let is_major = new
            .version
            .zip(old.version)
            .is_some_and(|(new, old)| new.announces(old) == Some(ChangeClass::Breaking));
        if is_major && self.tool.migration().is_none() {
            self.error(SpecRule::Migration, line, "a new major version has no migration guide");
        }
    }
}

impl Section {
    /// Returns whether a word stands anywhere in the section.
    fn contains(&self, word: &str) -> bool {
        self.blocks.iter().any(|block| match block {
            Block::Text { text, .. } | Block::Code { text, .. } => text.contains(word),
            Block::Table(table) => table.rows().any(|row| row.contains(word)),
        })
    }
}
