import Atto
import AttoLinks
import Glibc

/// Holds connections at which nothing happens and says what they cost: resident memory, and how
/// often the loop woke.
func holdIdleConnections(_ count: Int, on loop: Loop) throws {
  var limit = rlimit()
  getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  limit.rlim_cur = limit.rlim_max
  setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
  let server = LocalServer(
    try Bench.database(), loop: loop, limits: ServerLimits(clients: count))
  try loop.runBlocking {
    var held: [Connection] = []
    for _ in 0..<count {
      // The far end is a descriptor and nothing more.
      var ends: [Int32] = [-1, -1]
      guard socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &ends) == 0 else {
        fatalError("no socket pair: raise the limit on open files (ulimit -n)")
      }
      let end = ends[0]
      held.append(
        try await Connection.adopt(
          { () throws(LinkError) in try SocketLink.adopt(end) }, server: server, loop: loop))
    }
    let before = Usage()
    try await loop.sleep(for: .seconds(2))
    let after = Usage()
    // The sleep itself is one wake-up.
    let wakeUps = Double(max(0, after.wakeUps - before.wakeUps - 1)) / 2
    print(
      """
      {"count":\(count),"seconds":2,"cpu":\(after.cpu - before.cpu),\
      "residentKilobytes":\(after.residentKilobytes),"wakeUpsPerSecond":\(wakeUps)}
      """)
    withExtendedLifetime(held) {}
  }
}

/// What the process has used.
private struct Usage {
  let cpu: Double
  let wakeUps: Int
  let residentKilobytes: Int

  init() {
    var usage = rusage()
    getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    cpu =
      Double(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec)
      + Double(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6
    wakeUps = usage.ru_nvcsw
    var pages = 0
    if let file = fopen("/proc/self/statm", "r") {
      var words = [CChar](repeating: 0, count: 256)
      if fgets(&words, 256, file) != nil {
        let text = words.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }
        let fields = String(decoding: text, as: UTF8.self).split(separator: " ")
        pages = fields.count > 1 ? Int(fields[1]) ?? 0 : 0
      }
      fclose(file)
    }
    residentKilobytes = pages * sysconf(Int32(_SC_PAGESIZE)) / 1024
  }
}
