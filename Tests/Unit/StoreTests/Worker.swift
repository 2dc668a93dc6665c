import Glibc
import Testing

/// The program StoreWorker, which is beside the program that runs the tests.
final class Worker {
  let process: Int32
  private let output: Int32
  private var buffer: [UInt8] = []
  private var isKilled = false

  init(_ words: String...) throws {
    var ends: [Int32] = [-1, -1]
    let piped = pipe(&ends)
    try #require(piped == 0)
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    var own = [UInt8](repeating: 0, count: 4096)
    let length = own.withUnsafeMutableBytes {
      readlink("/proc/self/exe", $0.baseAddress!.assumingMemoryBound(to: CChar.self), $0.count)
    }
    let program = String(decoding: own.prefix(max(0, length)), as: UTF8.self)
    let folders = [program, CommandLine.arguments[0]].map {
      String($0[..<($0.lastIndex(of: "/") ?? $0.startIndex)])
    }
    let path = try #require(
      folders.map { $0 + "/StoreWorker" }.first { access($0, X_OK) == 0 },
      "StoreWorker is in none of \(folders)")
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO)
    let arguments = ([path] + words).map { strdup($0) }
    defer { for argument in arguments { free(argument) } }
    var number: pid_t = 0
    let result = posix_spawn(&number, path, &actions, nil, arguments + [nil], environ)
    close(ends[1])
    try #require(result == 0)
    process = number
    output = ends[0]
  }

  deinit { kill() }

  /// Returns the next line of its output; nil at its end or after the timeout.
  func line(within milliseconds: Int32 = 20_000) -> String? {
    while true {
      if let end = buffer.firstIndex(of: UInt8(ascii: "\n")) {
        defer { buffer.removeFirst(end + 1) }
        return String(decoding: buffer[..<end], as: UTF8.self)
      }
      var wait = pollfd(fd: output, events: Int16(POLLIN), revents: 0)
      guard poll(&wait, 1, milliseconds) > 0 else { return nil }
      var octets = [UInt8](repeating: 0, count: 4096)
      let count = read(output, &octets, octets.count)
      guard count > 0 else { return nil }
      buffer += octets[..<count]
    }
  }

  /// Kills it with SIGKILL and waits for its end.
  func kill() {
    guard !isKilled else { return }
    isKilled = true
    Glibc.kill(process, SIGKILL)
    var status: Int32 = 0
    waitpid(process, &status, 0)
  }

  /// Returns the lines that it printed before it was killed.
  func rest() -> [String] {
    var lines: [String] = []
    while let line = line(within: 0) { lines.append(line) }
    close(output)
    return lines
  }
}
