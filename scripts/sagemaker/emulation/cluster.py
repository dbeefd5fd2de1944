"""Starts one process per host of a job, in its own mount and network namespaces if allowed.

Without network namespaces, the hosts are addresses of the loopback interface.
"""

import os
import queue
import shlex
import shutil
import signal
import subprocess
import sys
import threading
import time

GRACE_SECONDS = 120  # from SIGTERM to SIGKILL


def say(text):
    print(f"emulate: {text}", file=sys.stderr, flush=True)


def succeeds(words):
    try:
        return subprocess.run(words, capture_output=True, stdin=subprocess.DEVNULL).returncode == 0
    except OSError:
        return False


def allowed(*namespaces):
    """Returns a command that starts programs in new namespaces, or None if that is not allowed."""
    for words in (["unshare", *namespaces], ["unshare", "--user", "--map-root-user", *namespaces]):
        if succeeds([*words, "true"]):
            return words
    return None


def check(words):
    done = subprocess.run(words, capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode != 0:
        raise RuntimeError(f"{shlex.join(words)}: {done.stderr.strip()}")


def started(words, **options):
    """Starts a program, waits for its first line, "ready", and returns the process."""
    process = subprocess.Popen(
        words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True, **options
    )
    if process.stdout.readline() != b"ready\n":
        raise RuntimeError(f"{shlex.join(words[:4])} … did not start")
    return process


class Network:
    """A bridge in its own namespace, so that this machine's network does not change."""

    def __init__(self, unshare):
        self.ports = 0
        self.hub = started(
            [*unshare, "sh", "-c", "echo ready; exec cat"], stderr=subprocess.DEVNULL
        )
        user = ["--user", "--preserve-credentials"] if "--user" in unshare else []
        self.enter = ["nsenter", "-t", str(self.hub.pid), *user, "--mount", "--net"]
        self.run("ip link add name lan type bridge && ip link set lan up")

    def run(self, command):
        check([*self.enter, "sh", "-c", command])

    def connect(self, process, address):
        """Connects the process's network namespace to the bridge, with an interface eth0."""
        port, self.ports = f"port{self.ports}", self.ports + 1
        own = f"nsenter -t {process.pid} --net"
        self.run(
            f"ip link add {port} type veth peer name eth0 netns {process.pid} && "
            f"ip link set {port} master lan up && {own} ip address add {address}/24 dev eth0 && "
            f"{own} ip link set eth0 up && {own} ip link set lo up"
        )

    def end(self):
        self.hub.kill()
        self.hub.wait()
        for pipe in (self.hub.stdin, self.hub.stdout):
            pipe.close()


class Cluster:
    """The hosts of a job. `lines` receives (host, line), or (host, None) when a host has ended."""

    def __init__(self, count, loopback=False):
        self.mounts = allowed("--mount")
        unshare = None if loopback or count == 1 else allowed("--mount", "--net")
        self.network, self.lines, self.processes = None, queue.Queue(), {}
        if unshare and shutil.which("ip"):
            self.network = Network(unshare)
        elif count > 1:
            say("no network namespaces: the hosts are addresses of the loopback interface")
        self.hosts = [f"algo-{i + 1}" for i in range(count)]
        if count > 1 and not self.network:
            self.hosts = [f"127.0.0.{i + 1}" for i in range(count)]
        self.interface = "eth0" if self.network or count == 1 else "lo"

    def address(self, host):
        return f"10.77.0.{self.hosts.index(host) + 1}"

    def setup(self, container):
        """Returns the shell commands that mount the container's folders and files."""
        commands = []
        if self.network:
            names = container.base / "hosts"
            lines = [f"{self.address(host)} {host}\n" for host in self.hosts]
            names.write_text("".join(["127.0.0.1 localhost\n", *lines]))
            commands.append(f"mount --bind {shlex.quote(str(names))} /etc/hosts")
        for source, target in container.mounts:
            source, target = shlex.quote(str(source)), shlex.quote(str(target))
            commands.append(f"mount --bind {source} {target}")
            commands.append(f"mount -o remount,bind,ro {target}")
        return commands

    def start(self, container):
        if container.mounts and not self.mounts:
            say("no mount namespaces: FastFile channels are links, which can be written to")
            for source, target in container.mounts:
                target.rmdir()
                target.symlink_to(source)
            container.mounts = []
        commands = ["echo ready", "read go", *self.setup(container), 'exec "$@" </dev/null']
        words = ["sh", "-c", " && ".join(commands), "sh", *container.words]
        if self.network:
            words = [*self.network.enter, "unshare", "--mount", "--net", *words]
        elif container.mounts:
            words = [*self.mounts, *words]
        process = started(
            words, stderr=subprocess.STDOUT, env=container.environment, cwd=container.base
        )
        if self.network:
            self.network.connect(process, self.address(container.host))
        process.stdin.write(b"go\n")
        process.stdin.close()
        self.processes[container.host] = process
        threading.Thread(target=self.read, args=(container.host, process), daemon=True).start()

    def read(self, host, process):
        for line in process.stdout:
            self.lines.put((host, line.decode(errors="replace").rstrip("\n")))
        process.stdout.close()
        process.wait()
        self.lines.put((host, None))

    def running(self):
        return [process for process in self.processes.values() if process.returncode is None]

    def terminate(self):
        """Sends SIGTERM to each container's first process.

        Returns when to call kill(), as a value of time.monotonic().
        """
        for process in self.running():
            process.send_signal(signal.SIGTERM)
        return time.monotonic() + GRACE_SECONDS

    def kill(self):
        """Kills all processes of all containers."""
        for process in self.processes.values():
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                continue

    def exit_codes(self):
        """Returns {host: exit code}; 128 + N for signal N."""
        return {
            host: code if code >= 0 else 128 - code
            for host, code in ((host, process.wait()) for host, process in self.processes.items())
        }

    def clear(self):
        self.processes = {}

    def end(self):
        self.kill()
        if self.network:
            self.network.end()
