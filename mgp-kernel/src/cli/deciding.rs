use std::collections::BTreeSet;
use std::io::{self, IsTerminal as _, Write as _};
use std::time::Duration;

use mgp_security::permission::Lasts;
use mgp_types::mgp::ServerId;
use tokio::time::sleep;

use super::exit::{Exit, Failure};
use super::link::Link;
use super::output::printable;
use crate::operator::method;
use crate::operator::permissions::{Approve, Decided, Deny, Pending, Question};

/// The person who started a command, in whose kernel nobody else can decide anything.
pub(super) struct Person {
    /// Whether there is one to be asked.
    is_there: bool,
    /// The questions that were answered.
    answered: BTreeSet<String>,
}

impl Person {
    pub(super) fn new() -> Self {
        let is_there = io::stdin().is_terminal() && io::stderr().is_terminal();
        Self { is_there, answered: BTreeSet::new() }
    }

    /// Decides what is open about a server, and says whether that was anything.
    ///
    /// # Errors
    /// There is nobody to ask; it says then how else to decide.
    pub(super) async fn decide(&mut self, link: &Link, server: &ServerId) -> Result<bool, Failure> {
        let Pending { questions, .. } = link.ask(method::PERMISSIONS_PENDING, &()).await?;
        let open =
            |question: &Question| question.server_id == *server && !self.answered.contains(&question.id);
        let open: Vec<_> = questions.into_iter().filter(open).collect();
        for question in &open {
            if !self.is_there {
                return Err(undecided(question));
            }
            let _: Decided = match says(question).await? {
                Said::Yes(lasts) => {
                    let yes = Approve { lasts, ..Approve::of(question.id.clone()) };
                    link.ask(method::PERMISSIONS_APPROVE, &yes).await?
                }
                Said::No => link.ask(method::PERMISSIONS_DENY, &Deny { id: question.id.clone() }).await?,
            };
            self.answered.insert(question.id.clone());
        }
        Ok(!open.is_empty())
    }

    /// Decides whatever comes up about a server, until that fails.
    pub(super) async fn attend(&mut self, link: &Link, server: &ServerId) -> Failure {
        loop {
            if let Err(failure) = self.decide(link, server).await {
                return failure;
            }
            sleep(LOOK_EVERY).await;
        }
    }
}

/// What a person said.
enum Said {
    /// Yes, for so long; if nothing is said, for this command.
    Yes(Option<Lasts>),
    No,
}

/// Asks on the terminal.
async fn says(question: &Question) -> Result<Said, Failure> {
    let unanswered = |error: io::Error| Failure::usage(format!("the question cannot be asked: {error}"));
    let choices = if question.permission.is_some() { "[y: for this command, always, N]" } else { "[y/N]" };
    let text = format!("{}\n{choices} ", printable(&question.message).trim_end());
    io::stderr().write_all(text.as_bytes()).map_err(unanswered)?;
    let line = tokio::task::spawn_blocking(|| {
        let mut line = String::new();
        io::stdin().read_line(&mut line).map(|_| line)
    });
    let line = line.await.map_err(io::Error::other).and_then(|line| line).map_err(unanswered)?;
    Ok(match line.trim() {
        "y" | "Y" | "yes" => Said::Yes(None),
        "always" if question.permission.is_some() => Said::Yes(Some(Lasts::Always)),
        _ => Said::No,
    })
}

fn undecided(question: &Question) -> Failure {
    let server = &question.server_id;
    if let Some(permission) = &question.permission {
        let permission = permission.as_str();
        let message = format!("the server `{server}` needs {permission}, about which nobody has decided");
        return Failure::new(Exit::Auth, message).hint(format!(
            "`mgp permissions approve {server} {permission} --all-agents` says yes; then call again"
        ));
    }
    let message =
        format!("a person has to confirm the call, and nobody is there to ask: {}", question.message);
    Failure::new(Exit::Auth, message).hint(
        "call it on a terminal; or start `mgp serve --http 127.0.0.1:7332`, call again, and decide with \
         `mgp permissions pending` and `mgp permissions approve ID`",
    )
}

const LOOK_EVERY: Duration = Duration::from_millis(100);
