use mgp_types::BoxFuture;

use super::*;
use crate::doubles::shared_databases;
use crate::permission::testing::*;

const SHELL: Permission = Permission::ShellExecute;

fn server() -> ServerId {
    "s".into()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_grant_nobody_waits_for_any_more_does_not_outlive_its_revocation_in_the_store() {
    let (database, audit) = (database(), Arc::<RecordingAuditPort>::default());
    let open = || GrantBook::open(database.clone(), audit.clone(), Clock::system());
    let book = open().await.unwrap();
    let held = hold(&database);
    let granting = tokio::spawn({
        let book = book.clone();
        async move { book.grant(&ada(), None, &server(), &SHELL, GrantTerms::default()).await }
    });
    // Once it is recorded it is about to be written.
    while audit.lines().is_empty() {
        tokio::task::yield_now().await;
    }
    granting.abort();
    let _ = granting.await;
    let revoking = tokio::spawn({
        let book = book.clone();
        async move { book.revoke(&ada(), None, &server(), &SHELL).await }
    });
    // The revocation gets every chance to be written before the grant is.
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    drop(held);
    revoking.await.unwrap().unwrap();
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    assert!(!book.is_granted(&server(), &SHELL));
    assert!(!open().await.unwrap().is_granted(&server(), &SHELL), "it came back with the next process");
}

/// A trail that takes a moment.
#[derive(Debug)]
struct Yielding(Arc<RecordingAuditPort>);

impl AuditPort for Yielding {
    fn record(&self, event: AuditEvent) -> BoxFuture<'_, Result<(), Error>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            self.0.record(event).await
        })
    }
}

#[tokio::test]
async fn a_revocation_nobody_waits_for_any_more_is_still_recorded_and_kept() {
    let database = database();
    let audit = Arc::<RecordingAuditPort>::default();
    let open = || GrantBook::open(database.clone(), Arc::new(Yielding(audit.clone())), Clock::system());
    let book = open().await.unwrap();
    book.grant(&ada(), None, &server(), &SHELL, GrantTerms::default()).await.unwrap();
    {
        let (operator, server) = (ada(), server());
        let mut revoking = std::pin::pin!(book.revoke(&operator, None, &server, &SHELL));
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        assert!(std::future::Future::poll(revoking.as_mut(), &mut context).is_pending());
    }
    let mut changes = book.changes();
    let closed = changes.wait_for(|_| !book.is_granted(&server(), &SHELL)).await.is_ok();
    // A further decision comes after it, so then it has been kept.
    book.grant(&ada(), None, &server(), &Permission::Camera, GrantTerms::default()).await.unwrap();
    assert!(closed && !open().await.unwrap().is_granted(&server(), &SHELL));
    assert!(audit.lines().contains(&"PERMISSION_REVOKED shell.execute SUCCESS".to_owned()));
}

#[tokio::test]
async fn a_denial_that_could_not_be_kept_is_kept_when_it_is_tried_again() {
    let database = database();
    let open = || GrantBook::open(database.clone(), Arc::<RecordingAuditPort>::default(), Clock::system());
    let book = open().await.unwrap();
    book.grant(&ada(), None, &server(), &SHELL, GrantTerms::default()).await.unwrap();
    fill(&database, "permission_grants", "true");
    book.revoke(&ada(), None, &server(), &SHELL).await.unwrap_err();
    assert!(!book.is_granted(&server(), &SHELL));
    make_room(&database);
    book.revoke(&ada(), None, &server(), &SHELL).await.unwrap();
    assert!(!open().await.unwrap().is_granted(&server(), &SHELL));
}

#[tokio::test]
async fn a_denial_that_could_not_be_recorded_is_recorded_when_it_is_tried_again() {
    let audit = Arc::<RecordingAuditPort>::default();
    let book = book(&audit).await;
    audit.fail();
    book.revoke(&ada(), None, &server(), &SHELL).await.unwrap_err();
    audit.mend();
    book.revoke(&ada(), None, &server(), &SHELL).await.unwrap();
    assert_eq!(audit.lines(), ["PERMISSION_REVOKED shell.execute SUCCESS"]);
}

#[tokio::test]
async fn a_grant_that_does_not_hold_can_be_given_again_in_the_same_words() {
    let hands = ManualClock::at(5000);
    let database = database();
    let open = || GrantBook::open(database.clone(), Arc::<RecordingAuditPort>::default(), hands.clock());
    let terms = || GrantTerms { expires_at: Some(moment(9000)), ..GrantTerms::default() };
    open().await.unwrap().grant(&ada(), None, &server(), &SHELL, terms()).await.unwrap();
    // The clock was put back while the process was down: the grant seems to come from the future.
    hands.set(1000);
    let book = open().await.unwrap();
    assert!(!book.is_granted(&server(), &SHELL));
    book.grant(&ada(), None, &server(), &SHELL, terms()).await.unwrap();
    assert!(book.is_granted(&server(), &SHELL));
}

#[tokio::test]
async fn one_server_does_not_fill_the_list_of_what_others_wait_for() {
    let book = book(&Arc::default()).await;
    for number in 0..2 * MAX_WAITING {
        book.note_waiting(&"greedy".into(), &Permission::read(&format!("com.example.p{number}")));
    }
    book.note_waiting(&server(), &SHELL);
    assert!(book.waiting().contains(&(server(), SHELL)));
    assert!(book.waiting().len() <= MAX_WAITING);
}

#[tokio::test]
async fn what_is_decided_at_one_kernel_holds_at_the_other_and_grants_for_sessions_stay() {
    let databases = shared_databases::<2>();
    let open = |database: &Database| {
        GrantBook::open(database.clone(), Arc::<RecordingAuditPort>::default(), Clock::system())
    };
    let (one, other) = (open(&databases[0]).await.unwrap(), open(&databases[1]).await.unwrap());
    let follow = async || {
        assert!(databases[1].catch_up().unwrap().contains("permission"));
        other.reload().await.unwrap();
    };
    one.grant(&ada(), None, &server(), &SHELL, GrantTerms::default()).await.unwrap();
    let mut changes = other.changes();
    follow().await;
    assert!(other.is_granted(&server(), &SHELL) && changes.has_changed().unwrap());
    let for_session = GrantTerms { lasts: GrantLifetime::Session, ..GrantTerms::default() };
    let agent = Some(AgentId::from("agent"));
    other.grant(&ada(), agent.clone(), &server(), &Permission::Camera, for_session).await.unwrap();
    one.revoke(&ada(), None, &server(), &SHELL).await.unwrap();
    changes.mark_unchanged();
    follow().await;
    let agents =
        |book: &GrantBook| book.all_records().into_iter().map(|record| record.agent).collect::<Vec<_>>();
    assert!(!other.is_granted(&server(), &SHELL) && changes.has_changed().unwrap());
    assert_eq!(agents(&other), [None, agent]);
    one.revoke(&ada(), None, &server(), &Permission::Camera).await.unwrap();
    follow().await;
    assert_eq!(agents(&other), [None, None], "a denial for all takes the place of the grant for the session");
    assert!(one.reset(&ada(), None, &server(), &Permission::Camera).await.unwrap());
    follow().await;
    assert_eq!(other.all_records(), one.all_records());
}
