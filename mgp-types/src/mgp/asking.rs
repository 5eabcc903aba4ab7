//! The rules by which an operator says about which calls a person is asked.

use serde::{Deserialize, Serialize};

use super::{CallEffect, Specificity, ToolPattern};
use crate::agent_family;
use crate::macros::record;

/// The answer of a rule to the question whether a person is asked about a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[expect(clippy::exhaustive_enums, reason = "whoever asks decides about each")]
pub enum Asking {
    /// Nobody is asked.
    Never,
    /// A person is asked once for each tool and effect.
    Once,
    /// A person is asked about each call.
    Always,
    /// The call is refused, and nobody is asked.
    Refuse,
}

record! {
    /// A rule of an operator for the calls of some tools: by all agents or one of them, with all effects or one.
    ///
    /// ```
    /// use mgp_types::mgp::{AskRule, Asking, CallEffect};
    ///
    /// let rules = [
    ///     AskRule::new("db.*".parse()?, Asking::Never),
    ///     AskRule { effect: Some(CallEffect::Destroys), ..AskRule::new("db.*".parse()?, Asking::Always) },
    /// ];
    /// let asking = |effect| AskRule::deciding(&rules, "local/editor", [], ("db", "query"), Some(effect), None);
    /// assert_eq!(asking(CallEffect::Reads), Some(Asking::Never));
    /// assert_eq!(asking(CallEffect::Destroys), Some(Asking::Always));
    /// # Ok::<(), mgp_types::mgp::ToolPatternError>(())
    /// ```
    pub struct AskRule as exhaustive: Eq {
        /// The tools.
        required tool: ToolPattern;
        /// The agent, or a group as `@name`; all agents if left out. A rule for `local` holds for each client without a key.
        optional agent: Box<str>;
        /// The effect of the calls; all effects if left out.
        optional effect: CallEffect;
        /// The beginning of the command that the calls run, such as `npm run`; all calls if left out. Whatever a plain line
        /// runs besides has to be known.
        optional command: Box<str>;
        /// The answer.
        required ask: Asking;
    }
}

record! {
    /// What is unknown in the command of a call.
    pub struct UnknownCommand: Eq {
        /// What the command does that nobody knows, in words behind "the call".
        required why: Box<str>;
        /// The beginnings of the command for which there may be a rule, the longest first.
        list prefixes: Box<str>;
    }
}

impl AskRule {
    /// Returns whether two rules are about the same calls.
    pub fn is_about_the_same(&self, other: &Self) -> bool {
        (&self.tool, &self.agent, self.effect, &self.command)
            == (&other.tool, &other.agent, other.effect, &other.command)
    }

    /// Returns the answer of the narrowest of `rules` for a call of the tool `(server, name)`, or `None` if none is about
    /// it. A rule for the agent is narrower than one for a group of it, that than one for its family, and that than one for
    /// all agents; then the tool counts, then the command, then the effect, and of equal rules the last one decides. Of what the rules for
    /// several `groups` say, the strictest holds. A call whose effect is unknown is met by rules for all effects only.
    pub fn deciding<'a>(
        rules: &[Self],
        agent: &str,
        groups: impl IntoIterator<Item = &'a str>,
        (server, name): (&str, &str),
        effect: Option<CallEffect>,
        command: Option<&UnknownCommand>,
    ) -> Option<Asking> {
        let narrowest = |of: Option<&str>| {
            let is_about = |rule: &&Self| {
                rule.agent.as_deref() == of
                    && rule.tool.matches(server, name)
                    && (rule.effect.is_none() || rule.effect == effect)
                    && rule
                        .command
                        .as_ref()
                        .is_none_or(|begin| command.is_some_and(|command| command.prefixes.contains(begin)))
            };
            let narrowness = |rule: &&Self| {
                let specificity = Specificity::new(rule.tool.server(), rule.tool.tool());
                (specificity, rule.command.is_some(), rule.effect.is_some())
            };
            rules.iter().filter(is_about).max_by_key(narrowness).map(|rule| rule.ask)
        };
        narrowest(Some(agent))
            .or_else(|| groups.into_iter().filter_map(|group| narrowest(Some(group))).max())
            .or_else(|| narrowest(Some(agent_family(agent)?)))
            .or_else(|| narrowest(None))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(tool: &str, agent: &str, effect: Option<CallEffect>, ask: Asking) -> AskRule {
        let agent = Some(agent).filter(|agent| !agent.is_empty()).map(Into::into);
        AskRule { agent, effect, ..AskRule::new(tool.parse().unwrap(), ask) }
    }

    #[test]
    fn the_narrowest_rule_decides_and_of_equal_ones_the_last() {
        use Asking::{Always, Never, Once, Refuse};
        let rules = [
            rule("*", "", None, Always),
            rule("git.*", "", None, Never),
            rule("git.*", "", Some(CallEffect::Sends), Once),
            rule("git.push", "", None, Refuse),
            rule("git.*", "local", None, Always),
            rule("git.*", "local/editor", None, Never),
            rule("mail.send", "", None, Never),
            rule("mail.send", "", None, Refuse),
        ];
        for (agent, tool, effect, expected) in [
            ("ada", ("web", "get"), Some(CallEffect::Reads), Always),
            ("ada", ("git", "status"), Some(CallEffect::Reads), Never),
            ("ada", ("git", "mail"), Some(CallEffect::Sends), Once),
            ("ada", ("git", "mail"), None, Never),
            ("ada", ("git", "push"), Some(CallEffect::Sends), Refuse),
            ("local/shell", ("git", "push"), Some(CallEffect::Sends), Always),
            ("local/editor", ("git", "push"), Some(CallEffect::Sends), Never),
            ("ada", ("mail", "send"), None, Refuse),
        ] {
            let asking = AskRule::deciding(&rules, agent, [], tool, effect, None);
            assert_eq!(asking, Some(expected), "{agent} {tool:?} {effect:?}");
        }
        assert_eq!(AskRule::deciding(&rules[1..2], "ada", [], ("web", "get"), None, None), None);
        assert_eq!(AskRule::deciding(&rules[4..5], "location", [], ("git", "x"), None, None), None);
    }

    #[test]
    fn rules_for_groups_stand_between_the_agent_and_everybody_and_the_strictest_group_decides() {
        use Asking::{Always, Never, Once, Refuse};
        let rules = [
            rule("*", "", None, Once),
            rule("git.push", "@a", None, Never),
            rule("git.*", "@b", None, Refuse),
            rule("git.push", "ada", None, Always),
        ];
        let asking = |agent: &str, groups: &[&'static str]| {
            AskRule::deciding(&rules, agent, groups.iter().copied(), ("git", "push"), None, None)
        };
        assert_eq!(asking("ada", &["@a", "@b"]), Some(Always));
        assert_eq!(asking("bob", &["@a"]), Some(Never));
        assert_eq!(asking("bob", &["@a", "@b"]), Some(Refuse));
        assert_eq!(asking("bob", &["@c"]), Some(Once));
    }
}
