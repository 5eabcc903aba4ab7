//! The questions of kernels that share them.

use tokio::task::JoinHandle;

use super::*;
use crate::doubles::shared_databases;

struct Kernel {
    database: Database,
    book: GrantBook,
    pending: PendingApprovals,
}

impl Kernel {
    async fn of(database: Database) -> Self {
        let audit = Arc::<testing::RecordingAuditPort>::default();
        let book = GrantBook::open(database.clone(), audit, Clock::system()).await.unwrap();
        let pending = PendingApprovals::open(database.clone(), book.clone(), HOUR, Clock::system()).unwrap();
        Self { database, book, pending }
    }

    /// Takes over what the other kernel changed.
    async fn follow(&self) {
        let changed = self.database.catch_up().unwrap();
        if changed.contains("permission") {
            self.book.reload().await.unwrap();
        }
        if changed.contains("questions") {
            self.pending.reload().await.unwrap();
        }
    }

    /// Returns the only open question, once this kernel has heard of it.
    async fn only_question(&self) -> PendingApproval {
        loop {
            self.follow().await;
            if let [only] = &self.pending.list()[..] {
                return only.clone();
            }
            tokio::task::yield_now().await;
        }
    }

    /// Asks, and waits for the answer.
    fn asking(&self, question: ApprovalQuestion) -> JoinHandle<Option<Decision>> {
        let (pending, question) = (self.pending.clone(), ApprovalQuestion { patience: HOUR, ..question });
        tokio::spawn(async move { decision(pending.ask(question).await.unwrap()) })
    }

    async fn answer(&self, id: &ApprovalId, answer: Decision) -> Result<(), Error> {
        let ada = Principal::operator("ada");
        self.pending.decide(&ada, id, &ApprovalAnswer::new(ada.clone(), answer)).await
    }
}

async fn kernels() -> [Kernel; 2] {
    let [one, other] = shared_databases();
    [Kernel::of(one).await, Kernel::of(other).await]
}

#[tokio::test]
async fn a_question_of_one_kernel_is_answered_at_the_other_and_its_call_goes_on_once() {
    let [one, other] = kernels().await;
    let asking = one.asking(call("a", "1"));
    let open = other.only_question().await;
    assert!(!open.is_asked_here && one.pending.list()[0].is_asked_here);
    other.answer(&open.id, Decision::Approved).await.unwrap();
    assert!(other.pending.list().is_empty());
    one.follow().await;
    assert_eq!(asking.await.unwrap(), Some(Decision::Approved));
    other.follow().await;
    let refused = other.answer(&open.id, Decision::Denied).await.unwrap_err();
    assert!(refused.message().ends_with("has approved this already"), "{refused}");
    assert!(one.pending.answered().is_empty() && other.pending.answered().is_empty());
    // The yes was for one call; who asks the same again at both asks one question.
    let again = id(one.pending.ask(call("a", "1")).await.unwrap());
    assert_ne!(again, open.id);
    assert_eq!(id(other.pending.ask(call("a", "1")).await.unwrap()), again);
}

#[tokio::test]
async fn of_two_operators_who_answer_at_once_one_decides_and_the_other_hears_who_did() {
    for _ in 0..10 {
        let [one, other] = kernels().await;
        let asked = id(one.pending.ask(call("a", "1")).await.unwrap());
        assert_eq!(other.only_question().await.id, asked);
        let (yes, no) =
            tokio::join!(one.answer(&asked, Decision::Approved), other.answer(&asked, Decision::Denied));
        assert_ne!(yes.is_ok(), no.is_ok());
        let (decided, refused) = match yes {
            Ok(()) => (Decision::Approved, no.unwrap_err()),
            Err(refused) => (Decision::Denied, refused),
        };
        let told = format!("nothing was changed: ada has {} this already", decided.as_str());
        assert!(refused.message() == told, "{refused}");
        for kernel in [&one, &other] {
            kernel.follow().await;
            assert_eq!(kernel.pending.find(&asked).unwrap().answer.unwrap().decision, decided);
        }
    }
}

#[tokio::test]
async fn a_yes_whose_kernel_is_gone_lets_one_call_through_at_one_of_the_others() {
    for _ in 0..10 {
        let [one, other] = kernels().await;
        let asking = one.asking(call("a", "1"));
        let open = other.only_question().await;
        // The caller is gone with its kernel, which is not there to hear of the answer.
        asking.abort();
        other.answer(&open.id, Decision::Approved).await.unwrap();
        let (first, second) =
            tokio::join!(one.pending.ask(call("a", "1")), other.pending.ask(call("a", "1")));
        let answers = [first, second].map(|reply| decision(reply.unwrap()));
        assert_eq!(answers.iter().flatten().collect::<Vec<_>>(), [&Decision::Approved]);
    }
}

#[tokio::test]
async fn a_no_reaches_all_callers_wherever_they_wait_and_a_yes_to_a_call_one_of_them() {
    for answer in [Decision::Denied, Decision::Approved] {
        let [one, other] = kernels().await;
        let first = one.asking(call("a", "1"));
        let asked = other.only_question().await.id;
        let mut joined = other.pending.asked();
        joined.mark_unchanged();
        let second = other.asking(call("a", "1"));
        joined.changed().await.unwrap();
        one.answer(&asked, answer).await.unwrap();
        assert_eq!(first.await.unwrap(), Some(answer));
        if answer == Decision::Approved {
            let anew = loop {
                let open = other.only_question().await;
                if open.id != asked {
                    break open;
                }
            };
            assert!(!second.is_finished());
            assert_eq!(one.only_question().await.id, anew.id);
            one.answer(&anew.id, answer).await.unwrap();
        }
        other.follow().await;
        assert_eq!(second.await.unwrap(), Some(answer));
    }
}

#[tokio::test]
async fn a_lasting_decision_about_a_permission_ends_the_question_at_all_kernels() {
    let [one, other] = kernels().await;
    let asked = || at_once(question(Permission::Camera));
    let open = id(one.pending.ask(asked()).await.unwrap());
    assert_eq!(id(other.pending.ask(asked()).await.unwrap()), open, "asked at both, it is one question");
    let ada = Principal::operator("ada");
    other.pending.decide(&ada, &open, &yes(&ada)).await.unwrap();
    one.follow().await;
    assert!(one.book.is_granted(&"s".into(), &Permission::Camera));
    assert!(one.pending.list().is_empty() && one.pending.answered().is_empty());
}
