//! The program's memory: mimalloc, since many small texts are made in one thread and freed in another.
//!
//! The `mimalloc` crate asks for every block by its alignment, also where a plain block has it anyway, and that way is
//! several times as long in the library. A few percent of what an event costs.

use std::alloc::{GlobalAlloc, Layout};

use libmimalloc_sys as mi;

/// mimalloc, by its short ways where they serve.
pub struct Allocator;

/// Whether a plain block of `size` bytes is aligned so: to 16 bytes from that size on, to 8 below (`MI_MAX_ALIGN_SIZE`).
#[inline]
fn is_plain(size: usize, align: usize) -> bool {
    align <= 8 || (align <= 16 && size >= 16)
}

// SAFETY: blocks come from mimalloc, aligned as asked for or better (see `is_plain`), and go back to it; all of its
// ways to allocate, plain and aligned, are freed and resized alike.
unsafe impl GlobalAlloc for Allocator {
    #[inline]
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: any size and any power of two may be asked for.
        let block = unsafe {
            if is_plain(layout.size(), layout.align()) {
                mi::mi_malloc(layout.size())
            } else {
                mi::mi_malloc_aligned(layout.size(), layout.align())
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        let block = unsafe {
            if is_plain(layout.size(), layout.align()) {
                mi::mi_zalloc(layout.size())
            } else {
                mi::mi_zalloc_aligned(layout.size(), layout.align())
            }
        };
        block.cast()
    }

    #[inline]
    unsafe fn dealloc(&self, block: *mut u8, _layout: Layout) {
        // SAFETY: the caller gives back what it got from here.
        unsafe { mi::mi_free(block.cast()) }
    }

    #[inline]
    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: the caller got the block from here.
        let block = unsafe {
            if is_plain(size, layout.align()) {
                mi::mi_realloc(block.cast(), size)
            } else {
                mi::mi_realloc_aligned(block.cast(), size, layout.align())
            }
        };
        block.cast()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_aligned_also_when_they_grow() {
        for align in [1, 2, 4, 8, 16, 32, 64, 4096] {
            for size in (1..300).chain([5000, 100_000]) {
                let layout = Layout::from_size_align(size, align).unwrap();
                // SAFETY: the sizes are not zero, and each block goes back once.
                unsafe {
                    let block = Allocator.alloc(layout);
                    assert_eq!(block.addr() % align, 0, "{size} {align}");
                    block.write_bytes(7, size);
                    let block = Allocator.realloc(block, layout, size + 33);
                    assert_eq!(block.addr() % align, 0, "{size} {align}");
                    assert_eq!((block.read(), block.add(size - 1).read()), (7, 7));
                    Allocator.dealloc(block, Layout::from_size_align(size + 33, align).unwrap());
                    let zeroed = Allocator.alloc_zeroed(layout);
                    assert_eq!((zeroed.addr() % align, zeroed.read()), (0, 0), "{size} {align}");
                    Allocator.dealloc(zeroed, layout);
                }
            }
        }
    }
}
