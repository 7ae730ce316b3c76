//! Per-worker values of a running plan, combined at the end in any order.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Values of all workers.
pub(crate) struct Workers<T>(Mutex<Vec<Arc<Mutex<T>>>>);

/// Value of one worker; no other thread uses it while the worker runs.
pub(crate) struct Own<T>(Arc<Mutex<T>>);

impl<T> Workers<T> {
    /// Creates an empty collection.
    pub(crate) fn new() -> Workers<T> {
        Workers(Mutex::new(Vec::new()))
    }

    /// Adds the initial value of a worker.
    pub(crate) fn begin(&self, value: T) -> Own<T> {
        let own = Arc::new(Mutex::new(value));
        lock(&self.0).push(Arc::clone(&own));
        Own(own)
    }

    /// Passes the value of each worker to `take`, after all have ended.
    pub(crate) fn for_each(self, mut take: impl FnMut(&mut T)) {
        lock(&self.0).iter().for_each(|own| take(&mut lock(own)));
    }

    /// Passes the value of each worker to `take`, up to the first error.
    pub(crate) fn try_for_each<E>(
        self,
        mut take: impl FnMut(&mut T) -> Result<(), E>,
    ) -> Result<(), E> {
        lock(&self.0).iter().try_for_each(|own| take(&mut lock(own)))
    }
}

impl<T> Own<T> {
    /// Locks the value.
    pub(crate) fn get(&self) -> MutexGuard<'_, T> {
        lock(&self.0)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
