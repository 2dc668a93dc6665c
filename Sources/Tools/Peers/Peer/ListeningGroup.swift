import Atto
import AttoCommandLine
import Glibc

/// `--group`: who may connect to a Unix socket.
package enum ListeningGroup {
  package static let option = Option.text(
    "group", "GROUP",
    "Let the members of GROUP connect to unix: too, mode 660 (default: only this user, mode 600).")

  /// Returns the ID of the group; nil without the option.
  package static func id(_ arguments: Arguments, for endpoint: Endpoint) throws(UsageError)
    -> UInt32?
  {
    guard let name = arguments[option] else { return nil }
    guard case .unix = endpoint else {
      throw UsageError("--group can only be used with --listen unix:PATH")
    }
    if let group = getgrnam(name) { return group.pointee.gr_gid }
    guard let number = UInt32(name), number != .max else {
      throw UsageError("invalid value \"\(name)\" for --group: no such group")
    }
    return number
  }
}
