// The same with the other module name.
import Foundation
import os

struct Session {
  let lock = OSAllocatedUnfairLock(initialState: [String: Int]())
  let signposter = OSSignposter(subsystem: "com.example.monitor", category: .pointsOfInterest)

  func count(_ name: String) -> Int {
    let state = signposter.beginInterval("count", id: signposter.makeSignpostID())
    defer { signposter.endInterval("count", state) }
    os_signpost(.event, log: .default, name: "counted", "%d", 1)
    return lock.withLock { counts in
      counts[name, default: 0] += 1
      return counts[name]!
    }
  }
}
