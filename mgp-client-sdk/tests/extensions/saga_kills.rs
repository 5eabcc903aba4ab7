//! Clients that die between any two things that a saga does.

use std::future::ready;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;

use mgp_client_sdk::types::code;
use mgp_client_sdk::types::ext::Compensation;
use mgp_client_sdk::{EraMode, Error, Saga, SagaBuilder, SagaOutcome, SagaStep};
use mgp_lifecycle::idempotency::IdempotencyBook;
use mgp_lifecycle::store::EffectStore;
use mgp_lifecycle::transaction::TransactionBook;
use mgp_server_sdk::Server;
use tempfile::TempDir;

use crate::death::Death;
use crate::office::{Line, World, connect, titled, tools};
use crate::rng::Rng;
use crate::saga_log::{is_refusal, refuse_after, refuse_nothing};
use crate::servers::MODES;

/// The three servers, which outlive the client, with all that they remember. `jira` has transactions, `wiki` knows keys, and `shed`
/// knows nothing.
struct Servers {
    world: Arc<World>,
    transactions: TransactionBook,
    keys: [IdempotencyBook; 2],
}

impl Servers {
    fn new() -> Self {
        let keys = std::array::from_fn(|_| IdempotencyBook::in_memory());
        Self { world: Arc::default(), transactions: TransactionBook::in_memory(), keys }
    }

    /// Connects a client to all of them, and returns the settings of its saga.
    async fn saga(&self, mode: EraMode, log: &TransactionBook, death: &Death) -> SagaBuilder {
        let line = Line::mortal("token", death.clone());
        let jira = Server::new("jira", "1.0.0").transactions(&self.transactions, &self.keys[0]);
        let wiki = Server::new("wiki", "1.0.0").idempotency(&self.keys[1]);
        let shed = Server::new("shed", "1.0.0");
        Saga::builder("order-7".parse().unwrap())
            .log(log)
            .server("jira", connect(tools(jira, "jira", &self.world), &line, mode).await)
            .server("wiki", connect(tools(wiki, "wiki", &self.world), &line, mode).await)
            .server("shed", connect(tools(shed, "shed", &self.world), &line, mode).await)
            .confirm_undo(|_| ready(true))
    }
}

/// What the user of the client wants, and how far the user knows that it has come.
#[derive(Debug)]
struct User {
    /// The server of each step.
    steps: Vec<&'static str>,
    /// The number of the step that comes next.
    next: usize,
    /// The steps whose results the user has seen.
    seen: Vec<usize>,
    wants_to_keep: bool,
}

#[derive(Debug, Clone, PartialEq)]
enum End {
    Kept,
    TakenBack,
    /// These steps have to be looked after.
    Partly(Vec<String>),
}

impl User {
    /// Goes on with the saga until it is over.
    ///
    /// # Errors
    /// The log takes no more.
    async fn go_on(
        &mut self,
        servers: &Servers,
        mode: EraMode,
        log: &TransactionBook,
        death: &Death,
    ) -> Result<End, Error> {
        let mut saga = match servers.saga(mode, log, death).await.resume() {
            Ok(saga) => saga,
            Err(_) => servers.saga(mode, log, death).await.begin().await?,
        };
        while let Some(server) = self.steps.get(self.next) {
            death.point().await;
            let number = self.next;
            // A step during which the client dies is not made again.
            self.next += 1;
            let title = format!("thing-{number}");
            let mut step = SagaStep::new(title.parse().unwrap(), *server, "create", titled(&title));
            if *server != "jira" {
                step = step.undone_by(Compensation::new("delete", titled(&title)));
            }
            match saga.step(step).await {
                Ok(result) => {
                    assert!(!result.is_error());
                    self.seen.push(number);
                }
                Err(error) if is_refusal(&error) => {
                    self.next = number;
                    return Err(error);
                }
                Err(_) => break,
            }
        }
        death.point().await;
        if self.wants_to_keep {
            match saga.finish().await {
                Ok(()) => return Ok(End::Kept),
                Err(error) if is_refusal(&error) => return Err(error),
                Err(_) => {}
            }
        }
        match saga.rollback().await {
            Ok(SagaOutcome::Clean) => Ok(End::TakenBack),
            Ok(SagaOutcome::Partial { failed }) => {
                Ok(End::Partly(failed.iter().map(|step| step.step_id.to_string()).collect()))
            }
            Err(error) if error.code() == code::TRANSACTION_CONFLICT => Ok(End::Kept),
            Err(error) => Err(error),
        }
    }

    /// Checks that nothing was done twice, and nothing forgotten.
    fn check(&self, done: &[String], end: &End) {
        let count = |call: &str| done.iter().filter(|one| *one == call).count();
        for (number, server) in self.steps.iter().enumerate() {
            let thing = format!("thing-{number}");
            let made = count(&format!("{server} create {thing}"));
            let undone = count(&format!("{server} delete {thing}"));
            let text =
                format!("{thing} was made {made} times and taken back {undone} times: {end:?}, {done:?}");
            assert!(made <= 1 && undone <= made, "{text}");
            match end {
                End::Kept => assert_eq!(undone, 0, "{text}"),
                End::Partly(failed) if failed.contains(&thing) => match *server {
                    "wiki" => panic!("a server that knows keys tells how a call ended: {text}"),
                    "jira" => assert_eq!(undone, made, "{text}"),
                    _ => {}
                },
                End::TakenBack | End::Partly(_) => assert_eq!(undone, made, "{text}"),
            }
            if self.seen.contains(&number) {
                assert_eq!(made, 1, "{text}");
            }
        }
        let undone: Vec<_> = done.iter().filter_map(|call| Some(call.split_once(" delete ")?.1)).collect();
        assert!(
            undone.is_sorted_by(|one, next| one > next),
            "what was done last is taken back first: {done:?}"
        );
    }
}

/// Returns a folder that outlives processes but not the machine, whose disk is not waited for.
fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    if memory.is_dir() { tempfile::tempdir_in(memory).unwrap() } else { tempfile::tempdir().unwrap() }
}

/// Runs one saga through processes that die, or whose disk runs full, and returns how it ended.
fn mortal_saga(seed: u64) -> End {
    let mut rng = Rng::new(seed);
    let folder = folder();
    let path = folder.path().join("sagas.db");
    let mode = MODES[usize::try_from(seed % 2).unwrap()];
    let steps = (0..rng.within(1..5)).map(|_| rng.pick(&["jira", "wiki", "shed"])).collect();
    let mut user = User { steps, next: 0, seen: Vec::new(), wants_to_keep: rng.chance(50) };
    let servers = Servers::new();
    for age in 0..8 {
        let is_last = age == 7;
        let death = if is_last || rng.chance(30) { Death::never() } else { Death::after(rng.within(0..30)) };
        let full_after = (!is_last && rng.chance(40)).then(|| rng.within(0..16));
        let end = death.end(async {
            let store = EffectStore::open(&path).unwrap();
            refuse_nothing(&path);
            if let Some(events) = full_after {
                refuse_after(&path, events);
            }
            let log = TransactionBook::open(store).unwrap();
            user.go_on(&servers, mode, &log, &death).await
        });
        match end {
            Some(Ok(end)) => {
                user.check(&servers.world.done(), &end);
                return end;
            }
            Some(Err(error)) => assert!(full_after.is_some(), "{error}"),
            None => {}
        }
    }
    unreachable!("the last process neither dies nor has a full disk")
}

// covers: EXT-05-42, EXT-05-43
#[test]
fn a_client_that_dies_at_any_point_does_nothing_twice_and_forgets_nothing() {
    let seeds = match std::env::var("MGP_SEED") {
        Ok(seed) => vec![seed.parse().unwrap()],
        Err(_) => (0..1000).collect(),
    };
    let run = |seed: &u64| {
        let end = catch_unwind(AssertUnwindSafe(|| mortal_saga(*seed)));
        end.unwrap_or_else(|_| panic!("replay with MGP_SEED={seed}"))
    };
    let ends: Vec<_> = seeds.iter().map(run).collect();
    if seeds.len() > 1 {
        let partly = ends.iter().filter(|end| matches!(end, End::Partly(_))).count();
        let [kept, back] =
            [End::Kept, End::TakenBack].map(|one| ends.iter().filter(|end| **end == one).count());
        assert!(kept > 50 && back > 50 && partly > 50, "{kept} kept, {back} taken back, {partly} in part");
    }
}
