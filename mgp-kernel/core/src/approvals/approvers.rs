//! The approvers that are asked about a server: the human in front of the client, and operators.
//!
//! Only clients of known names (`attended_clients.txt`) are asked for their person: a client that shows a question
//! cannot be told from a library for agents that answers by itself. A name proves nothing, so once a passphrase is set, an
//! operator has to trust the client, too.

use std::sync::Arc;

use mgp_discovery::Config;
use mgp_security::permission::{Approver, ApproverChain, PersonInFront};
use mgp_types::{Context, Principal, PrincipalKind, agent_family};
use tokio::sync::watch;

use crate::policies::Policies;
use crate::record::AuditTrail;
use crate::settings::running::RunningConfig;

/// Returns the approvers in the order of [`ApproverChain`]: the human in front of the calling client, if the
/// configuration says that there is one; then operators. `asked` counts the questions.
pub(crate) fn approvers_of(
    config: &Arc<RunningConfig>,
    policies: &Arc<Policies>,
    audit: &AuditTrail,
    asked: &watch::Sender<u64>,
) -> Arc<dyn Approver> {
    let (config, asked, own) = (Arc::clone(config), asked.clone(), Arc::clone(policies));
    let person = move |context: &Context| {
        asked.send_modify(|asked| *asked += 1);
        // A question on a connection that a program may have opened is never answered there in place of a human.
        if context.unattended {
            return PersonInFront::Unproven;
        }
        // The question goes to the client whose connection it is, whichever agent it speaks for.
        let client = context.speaker.as_ref().or(context.principal.as_ref());
        let Some(client) = client.filter(|client| has_person(&config.load(), client)) else {
            return PersonInFront::Nobody;
        };
        let is_proven = client.kind() == PrincipalKind::KeyHolder
            || context.client.as_ref().is_some_and(|session| session.is_trusted())
            || !own.proofs.is_passphrase_set();
        if !is_proven {
            return PersonInFront::Unproven;
        }
        PersonInFront::Operator(Principal::of(PrincipalKind::Person, client.as_str()))
    };
    Arc::new(ApproverChain::new(Arc::new(person), policies.pending.clone(), audit.clock.clone()))
}

/// Returns whether a human sits in front of this client who can be asked. The way by which the client came decides:
/// what is configured of the agent on standard input and output holds for no other client of that name.
fn has_person(config: &Config, client: &Principal) -> bool {
    let known = config.agent(client.as_str());
    match client.kind() {
        // A client that is known to show questions to a human, unless the configuration says otherwise.
        PrincipalKind::LocalClient => known.map_or_else(|| is_attended(client.as_str()), |known| known.human),
        PrincipalKind::Agent => known.is_some_and(|known| known.human),
        PrincipalKind::KeyHolder | PrincipalKind::KeylessClient => {
            known.is_some_and(|known| known.human && !known.stdio)
        }
        _ => false,
    }
}

/// Returns whether a client of the user has a name that is known for clients that show questions to a human. Agents that
/// run by themselves answer questions as well, and are named after the library that they use.
fn is_attended(client: &str) -> bool {
    let name = agent_family(client).and_then(|family| client.strip_prefix(family)?.strip_prefix('/'));
    let known = || ATTENDED.lines().filter(|line| !line.starts_with('#'));
    name.is_some_and(|name| known().any(|known| known == name))
}

/// The names of clients that show questions to a human, one in each line.
const ATTENDED: &str = include_str!("attended_clients.txt");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_in_front_of_a_channel_and_not_of_a_name() {
        use PrincipalKind::{
            Agent, Delegated, KeyHolder, KeyOperator, KeylessClient, LocalClient, Operator, Person,
        };

        let config: Config = serde_json::from_str(
            r#"{"agents":[{"id":"desk","stdio":true,"human":true},{"id":"web","human":true},{"id":"ci"}]}"#,
        )
        .unwrap();
        let asked = |kind, name: &str| has_person(&config, &Principal::of(kind, name));
        assert!(asked(LocalClient, "desk") && asked(LocalClient, "local/cursor-vscode"));
        assert!(asked(KeyHolder, "web") && asked(KeylessClient, "web") && asked(Agent, "desk"));
        for (kind, name) in [
            (KeyHolder, "desk"),
            (KeylessClient, "desk"),
            (KeyHolder, "local"),
            (Agent, "local"),
            (LocalClient, "ci"),
            (LocalClient, "local"),
            (LocalClient, "local/mcp"),
            (LocalClient, "local/# claude-code"),
            (LocalClient, "cursor-vscode"),
            (Delegated, "web"),
            (Operator, "web"),
            (KeyOperator, "desk"),
            (Person, "web"),
        ] {
            assert!(!asked(kind, name), "{kind:?} {name}");
        }
    }
}
