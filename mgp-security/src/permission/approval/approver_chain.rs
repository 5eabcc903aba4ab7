//! The approver that asks the calling client first, and then the operators' queue.

use std::pin::pin;

use async_trait::async_trait;
use futures_util::future::{Either, select};
use mgp_types::mgp::{Decision, ServerId};
use mgp_types::{Error, Origin, Principal};
use tokio::time::{Instant, timeout_at};

use super::elicit::{ElicitationApprover, OperatorInFront};
use super::{
    ApprovalAnswer, ApprovalId, ApprovalQuestion, ApprovalReply, ApprovalSubject, Approver, PendingApprovals,
    ShownArguments,
};
use crate::Clock;

/// An approver that asks people in this order: first, by elicitation, the calling client, if a person sits in front
/// of it; then operators, who see the question in the queue, whether they watch it or look later.
///
/// A client answers for its human, and a model could answer for itself; so only the clients that the configuration
/// names are asked, each as the operator who answers there. A client that cannot be asked, or whose answer is
/// unusable (dismissed, malformed, too late), decides nothing, and the question goes to the queue. An answer that was
/// given while nobody waited for it comes before all of these.
#[derive(Clone)]
pub struct ApproverChain {
    operator: OperatorInFront,
    client: ElicitationApprover,
    queue: PendingApprovals,
}

impl ApproverChain {
    /// Returns a chain that asks the clients for which `operator` names an operator, and otherwise puts the question
    /// into `queue`.
    pub fn new(operator: OperatorInFront, queue: PendingApprovals, clock: Clock) -> Self {
        Self { operator, client: ElicitationApprover::new(clock), queue }
    }

    /// Returns the answer given in front of the client until `end`; `None` if nobody decided there.
    ///
    /// If the question has no room for the whole call, operators also find it in the queue, and the first answer
    /// counts.
    async fn ask_client(
        &self,
        question: &mut ApprovalQuestion,
        operator: Principal,
        asker: Principal,
        end: Instant,
    ) -> Result<Option<ApprovalAnswer>, Error> {
        let is_abridged = question.subject.arguments().is_some_and(ShownArguments::is_abridged);
        if is_abridged {
            question.id = Some(self.queue.id_for(question));
        }
        let shown = question.clone();
        let client = pin!(timeout_at(end, self.client.ask(&shown, operator, asker)));
        let reply = if is_abridged {
            match select(client, self.queue.ask(question.clone())).await {
                Either::Left((reply, _)) => reply,
                Either::Right((Ok(ApprovalReply::Answer(answer)), _)) => return Ok(Some(answer)),
                // The wait for operators ended without an answer, or there is no room in the queue.
                Either::Right((_, client)) => client.await,
            }
        } else {
            client.await
        };
        match reply {
            Ok(Ok(answer)) if answer.decision != Decision::Deferred => {
                self.queue.take_back(question).await;
                // A denial of a call is for this call only; a denial of a permission stays for a while.
                let stays = matches!(question.subject, ApprovalSubject::Permission { .. });
                return Ok(Some(if stays { self.queue.with_end(answer) } else { answer }));
            }
            Ok(Ok(_)) => tracing::debug!("a client's answer decides nothing; operators are asked"),
            Ok(Err(error)) if error.origin() == Origin::InputRequired => return Err(error),
            Ok(Err(error)) => tracing::debug!(%error, "a client cannot be asked; operators are"),
            Err(_) => tracing::debug!("a client did not answer in time; operators are asked"),
        }
        Ok(None)
    }
}

#[async_trait]
impl Approver for ApproverChain {
    async fn ask(&self, mut question: ApprovalQuestion) -> Result<ApprovalReply, Error> {
        if let Some(answer) = self.queue.take_answer(&question).await? {
            return Ok(ApprovalReply::Answer(answer));
        }
        let asker = question.asker().cloned();
        let person = asker.and_then(|asker| Some(((self.operator)(&question.context)?, asker)));
        if let Some((operator, asker)) = person.filter(|_| !question.patience.is_zero()) {
            let end = Instant::now() + question.patience;
            if let Some(answer) = self.ask_client(&mut question, operator, asker, end).await? {
                return Ok(ApprovalReply::Answer(answer));
            }
            question.patience = end.saturating_duration_since(Instant::now());
        }
        self.queue.ask(question).await
    }

    async fn take_back(&self, question: &ApprovalQuestion) {
        self.queue.take_back(question).await;
    }

    fn open_for(&self, server: &ServerId) -> Option<ApprovalId> {
        self.queue.open_for(server)
    }
}

mgp_types::partial_debug!(ApproverChain, self => queue: self.queue);
