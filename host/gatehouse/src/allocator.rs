//! The allocator of the program, with the only unsafe code of this crate.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Returns free memory to the system. The allocator keeps it for a second otherwise, and longer if nothing is allocated.
/// Takes about a millisecond.
#[allow(unsafe_code, reason = "a function of the allocator, see SAFETY")]
pub(crate) fn release_free_memory() {
    // SAFETY: the function takes no pointer, may be called by any thread at any time, and only frees what is free.
    unsafe { libmimalloc_sys::mi_collect(true) }
}
