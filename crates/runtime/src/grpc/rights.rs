//! Rights of the caller of a running stream, asked again while it runs: a right that is taken away ends it.

use std::time::Duration;

use futures::{Stream, StreamExt, stream};
use tokio::time::{Instant, MissedTickBehavior, interval_at};
use tonic::{Request, Status};

use super::{Access, Authorizer};

/// Pause between two looks at them; with what the authorizer remembers, one that is lost ends the stream within a minute.
pub(super) const CHECKED: Duration = Duration::from_secs(30);

/// The accesses that the caller of a stream needs, for as long as the stream runs.
pub struct Rights {
    authorizer: Authorizer,
    /// Nothing but the caller's metadata.
    caller: Request<()>,
    accesses: Vec<Access>,
    every: Duration,
}

impl Authorizer {
    /// Lets a caller through to a stream, as [`Authorizer::allow`] does; [`Rights::guard`] goes on looking.
    ///
    /// # Errors
    ///
    /// As [`Authorizer::allow`].
    pub async fn allow_stream<T>(&self, request: &Request<T>, access: Access) -> Result<Rights, Status> {
        self.allow(request, access.clone()).await?;
        Ok(self.allowed_stream(request, vec![access]))
    }

    /// As [`Authorizer::allow_stream`], for a caller that was let through to all of these already.
    pub fn allowed_stream<T>(&self, request: &Request<T>, accesses: Vec<Access>) -> Rights {
        Rights::new(self, request, accesses, CHECKED)
    }
}

impl Rights {
    /// Rights that a caller has now, to be looked at `every` so often.
    pub(super) fn new<T>(
        authorizer: &Authorizer,
        request: &Request<T>,
        accesses: Vec<Access>,
        every: Duration,
    ) -> Self {
        let mut caller = Request::new(());
        if let Some(token) = request.metadata().get("authorization") {
            caller.metadata_mut().insert("authorization", token.clone());
        }
        Self { authorizer: authorizer.clone(), caller, accesses, every }
    }

    /// The stream, as long as its caller has the rights. It ends with an error when a right is gone, and when that is not known: the
    /// caller resumes when the API server answers again.
    pub fn guard<T, S>(self, stream: S) -> impl Stream<Item = Result<T, Status>> + Send + 'static
    where
        T: Send + 'static,
        S: Stream<Item = Result<T, Status>> + Send + 'static,
    {
        let mut due = interval_at(Instant::now() + self.every, self.every);
        // Once for all looks that a slow reader has let pass.
        due.set_missed_tick_behavior(MissedTickBehavior::Delay);
        stream::unfold(Some((Box::pin(stream), due, self)), |state| async {
            let (mut stream, mut due, rights) = state?;
            let item = loop {
                tokio::select! {
                    biased;
                    _ = due.tick() => if let Err(status) = rights.check().await {
                        break Err(status);
                    },
                    item = stream.next() => break item?,
                }
            };
            // An error is the last item.
            let state = item.is_ok().then_some((stream, due, rights));
            Some((item, state))
        })
    }

    async fn check(&self) -> Result<(), Status> {
        for access in &self.accesses {
            self.authorizer.allow(&self.caller, access.clone()).await?;
        }
        Ok(())
    }
}
