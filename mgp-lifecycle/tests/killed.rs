//! Processes that are killed by the system between any two things that a transaction does.
#![cfg(feature = "store")]
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that cannot go on fails, and its child reports"
)]

use std::fs::{File, OpenOptions, read_to_string};
use std::io::{BufRead, BufReader, Write, stdin};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::{env, future::ready};

use mgp_lifecycle::store::EffectStore;
use mgp_lifecycle::transaction::{
    CompensationCall, Compensator, InterruptedStep, StepCall, StepOutcome, TransactionBook,
};
use mgp_types::ext::transaction::{
    BeginTransaction, RollbackTransaction, TransactionReport, TransactionState, TransactionStep,
};
use mgp_types::ext::{Compensation, TransactionId};
use mgp_types::{BoxFuture, Error, Object, Principal};

const STEPS: usize = 3;

/// The world outside of the processes: a file with a line for each effect, which has the key of its call.
#[derive(Debug, Clone)]
struct World {
    effects: PathBuf,
    /// True in a process that stops before and after each effect, until somebody lets it go on.
    stops: bool,
}

impl World {
    fn at(folder: &Path, stops: bool) -> Self {
        Self { effects: folder.join("effects"), stops }
    }

    fn effects(&self) -> Vec<String> {
        read_to_string(&self.effects).unwrap_or_default().lines().map(str::to_owned).collect()
    }

    /// Has an effect, unless a call with this key had it.
    fn act(&self, key: &str, effect: &str) {
        self.stop();
        let prefix = format!("{key} ");
        if !self.effects().iter().any(|line| line.starts_with(&prefix)) {
            let mut file: File = OpenOptions::new().create(true).append(true).open(&self.effects).unwrap();
            file.write_all(format!("{prefix}{effect}\n").as_bytes()).unwrap();
        }
        self.stop();
    }

    fn stop(&self) {
        if self.stops {
            println!("stopped");
            stdin().read_line(&mut String::new()).unwrap();
        }
    }
}

impl Compensator for World {
    fn compensate(&self, call: CompensationCall) -> BoxFuture<'_, Result<(), Error>> {
        self.act(call.key.as_str(), &format!("delete {}", call.step_id));
        Box::pin(ready(Ok(())))
    }

    fn resolve(&self, step: InterruptedStep) -> BoxFuture<'_, Result<StepOutcome, Error>> {
        self.act(step.step.key.unwrap().as_str(), &format!("create {}", step.step_id));
        Box::pin(ready(Ok(undo())))
    }
}

fn ada() -> Principal {
    Principal::new("ada")
}

fn tx() -> TransactionId {
    "tx-1".parse().unwrap()
}

fn undo() -> StepOutcome {
    StepOutcome::Undoable(Compensation::new("delete", Object::new()))
}

fn book(folder: &Path) -> TransactionBook {
    TransactionBook::open(EffectStore::open(&folder.join("effects.db")).unwrap()).unwrap()
}

async fn roll_back(book: &TransactionBook, world: &World) -> TransactionReport {
    let (ask, hands) = (RollbackTransaction::new(tx()), Arc::new(world.clone()));
    book.rollback(&ada(), &ask, hands).await.unwrap()
}

/// Makes the steps of a transaction and takes them back, stopping before and after each effect.
#[tokio::main(flavor = "current_thread")]
async fn child(folder: &Path) {
    let (book, world) = (book(folder), World::at(folder, true));
    book.begin(&ada(), &BeginTransaction::new(tx())).await.unwrap();
    for number in 0..STEPS {
        let id = format!("step-{number}");
        let place = TransactionStep { transaction_id: tx(), step_id: Some(id.parse().unwrap()) };
        let key = format!("make-{number}");
        let call =
            StepCall::new("tracker".into(), "create".into()).repeatable(key.parse().unwrap(), Object::new());
        let open = book.begin_step(&ada(), &place, call).await.unwrap();
        world.act(&key, &format!("create {id}"));
        open.end(undo()).await.unwrap();
    }
    roll_back(&book, &world).await;
}

// covers: EXT-05-43
#[test]
fn a_process_that_is_killed_by_the_system_does_nothing_twice_and_forgets_nothing() {
    const CHILD: &str = "MGP_TEST_TRANSACTION";
    if let Some(folder) = env::var_os(CHILD) {
        return child(folder.as_ref());
    }
    let stops = STEPS * 4;
    for position in 0..stops {
        let folder = tempfile::tempdir().unwrap();
        let mut child = Command::new(env::current_exe().unwrap())
            .args([
                "--exact",
                "a_process_that_is_killed_by_the_system_does_nothing_twice_and_forgets_nothing",
            ])
            .arg("--nocapture")
            .env(CHILD, folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let mut goes_on = child.stdin.take().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let reached = lines.map(Result::unwrap).filter(|line| line.ends_with("stopped")).take(position + 1);
        for passed in reached.enumerate().map(|(passed, _)| passed) {
            if passed == position {
                child.kill().unwrap();
            } else {
                goes_on.write_all(b"\n").unwrap();
            }
        }
        child.wait().unwrap();

        let world = World::at(folder.path(), false);
        let before = world.effects().len();
        assert_eq!(before, position.div_ceil(2), "the process was killed at another position");
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let report = runtime.block_on(async { roll_back(&book(folder.path()), &world).await });
        assert_eq!(report.status, Some(TransactionState::RolledBack), "position {position}");
        let effects = world.effects();
        let effects: Vec<_> = effects.iter().map(|line| line.split_once(' ').unwrap().1).collect();
        // A step that was interrupted before its effect is made, and then taken back.
        let made = STEPS.min(position / 2 + 1);
        let created = (0..made).map(|number| format!("create step-{number}"));
        let deleted = (0..made).rev().map(|number| format!("delete step-{number}"));
        assert_eq!(effects, created.chain(deleted).collect::<Vec<_>>(), "position {position}");
    }
}
