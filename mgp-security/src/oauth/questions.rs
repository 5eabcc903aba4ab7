//! Questions to issuers about tokens that say nothing themselves.

use std::collections::HashMap;
use std::sync::{Arc, Weak};

use foldhash::quality::RandomState;
use parking_lot::Mutex;
use tokio::sync::{OnceCell, Semaphore};

use super::TokenError;
use super::resource_server::KnownToken;

/// The questions that are open. All who come with one token wait for one answer.
pub(super) struct OpenQuestions {
    open: Mutex<HashMap<[u8; 32], Weak<Question>, RandomState>>,
    room: Semaphore,
}

type Question = OnceCell<TokenAnswer>;
/// The outcome of a question to the issuer.
type TokenAnswer = Result<Arc<KnownToken>, TokenError>;

impl OpenQuestions {
    pub(super) fn new() -> Self {
        Self { open: Mutex::default(), room: Semaphore::new(MAX_QUESTIONS) }
    }

    /// Returns the answer about the token with this digest, for which `ask` asks unless somebody else does already. Where too
    /// many questions are open, nobody is asked: texts that are no tokens must not keep the issuers busy.
    pub(super) async fn answer(
        &self,
        digest: [u8; 32],
        ask: impl Future<Output = TokenAnswer>,
    ) -> TokenAnswer {
        let question = self.about(digest);
        let asked = async {
            let _room = self.room.try_acquire().map_err(|_| TokenError::Unreachable)?;
            ask.await
        };
        question.get_or_init(|| asked).await.clone()
    }

    fn about(&self, digest: [u8; 32]) -> Arc<Question> {
        let mut open = self.open.lock();
        if let Some(question) = open.get(&digest).and_then(Weak::upgrade) {
            return question;
        }
        let question = Arc::<Question>::default();
        open.retain(|_, question| question.strong_count() > 0);
        open.insert(digest, Arc::downgrade(&question));
        question
    }
}

/// The number of tokens about which issuers are asked at once.
const MAX_QUESTIONS: usize = 32;
