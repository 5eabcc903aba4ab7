//! The classes of dangers that are refused, each with the advice for the agent that `dangers.txt` holds.

use crate::Finding;
use crate::named::{Named as _, named};

named! {
    /// A class of danger.
    pub(super) enum Danger {
        "undecidable" => Undecidable,
        "obfuscation" => Obfuscation,
        "too-complex" => TooComplex,
        "invisible-character" => InvisibleCharacter,
        "recursive-delete" => RecursiveDelete,
        "device" => Device,
        "system-path" => SystemPath,
        "persistence" => Persistence,
        "fork-bomb" => ForkBomb,
        "resource-exhaustion" => ResourceExhaustion,
        "reverse-shell" => ReverseShell,
        "download-and-run" => DownloadAndRun,
        "secret" => Secret,
        "exfiltration" => Exfiltration,
        "cloud-metadata" => CloudMetadata,
        "privilege" => Privilege,
        "security-control" => SecurityControl,
        "log-wiping" => LogWiping,
        "power" => Power,
        "kill-all" => KillAll,
        "interpreter" => Interpreter,
        "option-injection" => OptionInjection,
        "environment" => Environment,
        "decision" => Decision,
        "lost-work" => LostWork,
        "foreign-package" => ForeignPackage,
        "destruction" => Destruction,
        "served-folder" => ServedFolder,
        "substitution" => Substitution,
        "redirection" => Redirection,
        "command" => Command,
        "embedded-code" => EmbeddedCode,
        "encoded" => Encoded,
        "separator" => Separator,
        "writes" => Writes,
    }
}

/// Returns the finding of a danger, with the advice for the agent.
pub(super) fn refuse(danger: Danger) -> Finding {
    let class = danger.name();
    let mut rows = include_str!("known/dangers.txt").lines().filter_map(|line| line.split_once(' '));
    Finding::new(class, rows.find(|(name, _)| *name == class).map_or(class, |(_, advice)| advice))
}

/// Refuses a call with a danger if the condition holds.
pub(super) fn refuse_if(condition: bool, danger: Danger) -> Result<(), Finding> {
    if condition { Err(refuse(danger)) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_class_has_its_advice() {
        for (class, danger) in Danger::NAMES {
            assert_eq!(Danger::named(class), Some(*danger));
            assert!(refuse(*danger).message.contains(' '), "{class}");
        }
    }
}
