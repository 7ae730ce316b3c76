//! State shared by the threads of a foreign program. The program may fork while another thread holds a lock, which is
//! then never released in the child, so no code waits for a lock without limit.

use std::sync::{Mutex, MutexGuard, TryLockError};
use std::time::Duration;

use tachyfits::Executor;

/// Attempts to lock, the first ones without a pause: about 20 milliseconds.
const ATTEMPTS: u32 = 250;
const ATTEMPTS_AT_ONCE: u32 = 50;
const PAUSE: Duration = Duration::from_micros(100);

/// Locks a mutex, unless another thread holds it for too long.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> Option<MutexGuard<'_, T>> {
    for attempt in 0..ATTEMPTS {
        match mutex.try_lock() {
            Ok(guard) => return Some(guard),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if attempt < ATTEMPTS_AT_ONCE => std::thread::yield_now(),
            Err(TryLockError::WouldBlock) => std::thread::sleep(PAUSE),
        }
    }
    None
}

/// Returns the executor of this process. A forked child needs a new one, because threads of its parent may have had
/// permits.
pub(crate) fn executor(threads: usize) -> Option<Executor> {
    static EXECUTOR: Mutex<Option<(u32, Executor)>> = Mutex::new(None);
    let process = std::process::id();
    let mut current = lock(&EXECUTOR)?;
    if let Some((owner, executor)) = &*current
        && *owner == process
    {
        return Some(executor.clone());
    }
    let executor = Executor::new(threads.max(1));
    // The parent's executor may have a lock that is never released.
    std::mem::forget(current.replace((process, executor.clone())));
    Some(executor)
}

#[cfg(test)]
mod tests {
    use super::{executor, lock};
    use std::sync::Mutex;

    #[test]
    fn lock_gives_up_while_another_has_it() {
        let mutex = Mutex::new(1);
        let guard = lock(&mutex).unwrap();
        assert!(lock(&mutex).is_none());
        drop(guard);
        assert_eq!(*lock(&mutex).unwrap(), 1);
    }

    #[test]
    fn process_has_one_executor() {
        let permits = executor(2).unwrap().permits();
        assert_eq!(executor(permits + 1).unwrap().permits(), permits);
    }
}
