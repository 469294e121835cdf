"""What a thread does in its own code, and names of calls of the operating system's libraries by what they do.

The names are those of the Linux manual pages, as nsys records them (OS runtime libraries). A call is known by its whole
name, never by how it begins.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class HostState(StrEnum):
    """What a thread does while it is in no CUDA call."""

    running = "running"
    blocked = "blocked"
    io = "io"
    sleep = "sleep"
    other = "other_os_call"
    descheduled = "descheduled"
    unknown = "unknown"


HOST_STATES: Final[Mapping[str, str]] = {
    HostState.running.value: "in none of these: its own code",
    HostState.blocked.value: "in a call that waits for a lock, a condition, a semaphore, another thread or process",
    HostState.io.value: "in a call on files, sockets, pipes or standard streams, or one that waits for them",
    HostState.sleep.value: "in a call that waits for time to pass",
    HostState.other.value: "in another call of the operating system's libraries: memory, threads, devices",
    HostState.descheduled.value: "in none of these calls, and off the CPU",
    HostState.unknown.value: "where the trace has neither such calls of the process nor the scheduling of the thread",
}
"""What each state means, in the order of the document."""

_BLOCKED: Final = frozenset(
    """
    pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_mutex_trylock pthread_spin_lock
    pthread_spin_trylock pthread_rwlock_rdlock pthread_rwlock_wrlock pthread_rwlock_timedrdlock
    pthread_rwlock_timedwrlock pthread_rwlock_clockrdlock pthread_rwlock_clockwrlock pthread_rwlock_tryrdlock
    pthread_rwlock_trywrlock pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait pthread_barrier_wait
    pthread_join pthread_tryjoin_np pthread_timedjoin_np pthread_clockjoin_np pthread_once mtx_lock mtx_timedlock
    mtx_trylock cnd_wait cnd_timedwait thrd_join call_once sem_wait sem_timedwait sem_clockwait sem_trywait semop
    semtimedop futex futex_wait futex_waitv flock lockf lockf64 wait wait3 wait4 waitpid waitid sigwait sigwaitinfo
    sigtimedwait sigsuspend pause
    """.split()
)
_SLEEP: Final = frozenset(
    """
    sleep usleep nanosleep clock_nanosleep thrd_sleep
    """.split()
)
_IO: Final = frozenset(
    """
    open open64 openat openat64 openat2 creat creat64 close close_range dup dup2 dup3 pipe pipe2 read pread pread64
    readv preadv preadv2 preadv64 preadv64v2 write pwrite pwrite64 writev pwritev pwritev2 pwritev64 pwritev64v2 lseek
    lseek64 llseek truncate truncate64 ftruncate ftruncate64 fallocate fallocate64 posix_fallocate posix_fallocate64
    posix_fadvise posix_fadvise64 fsync fdatasync sync syncfs sync_file_range msync readahead copy_file_range sendfile
    sendfile64 splice tee vmsplice stat stat64 lstat lstat64 fstat fstat64 fstatat fstatat64 newfstatat statx statfs
    statfs64 fstatfs fstatfs64 statvfs statvfs64 fstatvfs fstatvfs64 access faccessat faccessat2 euidaccess eaccess
    chmod fchmod fchmodat chown fchown lchown fchownat link linkat symlink symlinkat unlink unlinkat rename renameat
    renameat2 remove mkdir mkdirat rmdir readlink readlinkat realpath mknod mknodat mkfifo mkfifoat mkstemp mkstemp64
    mkostemp mkostemp64 tmpfile tmpfile64 opendir fdopendir readdir readdir64 readdir_r closedir scandir scandir64
    getdents getdents64 fcntl fcntl64 fopen fopen64 fdopen freopen freopen64 fclose fcloseall fread fread_unlocked
    fwrite fwrite_unlocked fgetc fgetc_unlocked fgets fgets_unlocked fgetwc fgetws getc getc_unlocked getchar
    getchar_unlocked gets getw getline getdelim getwc getwchar fputc fputc_unlocked fputs fputs_unlocked fputwc fputws
    putc putc_unlocked putchar putchar_unlocked puts putw putwc putwchar ungetc fflush fflush_unlocked fseek fseeko
    fseeko64 ftell ftello ftello64 rewind fgetpos fsetpos scanf fscanf vscanf vfscanf printf fprintf vprintf vfprintf
    dprintf vdprintf perror popen pclose socket socketpair bind listen accept accept4 connect shutdown recv recvfrom
    recvmsg recvmmsg send sendto sendmsg sendmmsg getaddrinfo gethostbyname poll ppoll select pselect epoll_wait
    epoll_pwait epoll_pwait2 epoll_ctl epoll_create epoll_create1 eventfd eventfd_read eventfd_write inotify_add_watch
    aio_read aio_read64 aio_write aio_write64 aio_fsync aio_fsync64 aio_suspend aio_suspend64 aio_return aio_error
    lio_listio lio_listio64 io_setup io_submit io_getevents io_pgetevents io_uring_enter io_uring_setup mq_open
    mq_send mq_receive mq_timedsend mq_timedreceive msgsnd msgrcv process_vm_readv process_vm_writev
    """.split()
)
_STATES: Final[Mapping[str, HostState]] = {
    **dict.fromkeys(_BLOCKED, HostState.blocked),
    **dict.fromkeys(_IO, HostState.io),
    **dict.fromkeys(_SLEEP, HostState.sleep),
}


def state_words(state: str) -> str:
    """Return what a state means; a stored digest of a newer version may name states that this one does not know."""
    return HOST_STATES.get(state, "of a newer version of the digest")


def state_in(call: str) -> HostState:
    """Return what a thread does in a call of that name; one that is in no table is ``other_os_call``."""
    return _STATES.get(call, HostState.other)
