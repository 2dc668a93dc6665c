import Glibc

/// Whether a group is a user's own, as many systems give one to each user, with a umask of 002. What
/// such a group may write to, nobody else may.
///
/// Only this machine's own accounts are known (/etc/passwd and /etc/group). A group that they do not
/// tell of counts as shared.
enum PrivateGroup {
  /// - Parameters:
  ///   - accounts: the lines of /etc/passwd.
  ///   - groups: the lines of /etc/group.
  static func isPrivate(
    _ group: UInt32, of user: UInt32, accounts: [String] = lines(of: "/etc/passwd"),
    groups: [String] = lines(of: "/etc/group")
  ) -> Bool {
    // name:password:user:group:...
    let accounts = accounts.map(fields).filter { $0.count > 3 }
    let names = accounts.filter { UInt32($0[2]) == user }.map { $0[0] }
    let isPrimary = accounts.filter { UInt32($0[3]) == group }.map { UInt32($0[2]) }
    guard !isPrimary.isEmpty, isPrimary.allSatisfy({ $0 == user }) else { return false }
    // name:password:group:members
    let entries = groups.map(fields).filter { $0.count > 3 && UInt32($0[2]) == group }
    return !entries.isEmpty
      && entries.allSatisfy { $0[3].split(separator: ",").allSatisfy(names.contains) }
  }

  private static func fields(_ line: String) -> [Substring] {
    line.split(separator: ":", omittingEmptySubsequences: false)
  }

  /// The lines of a text file, without their ends; none if it cannot be read.
  static func lines(of path: String) -> [String] {
    guard let file = fopen(path, "re") else { return [] }
    defer { fclose(file) }
    var (line, capacity): (UnsafeMutablePointer<CChar>?, Int) = (nil, 0)
    defer { free(line) }
    var lines: [String] = []
    while getline(&line, &capacity, file) > 0, let read = line {
      var text = String(cString: read)
      if text.last == "\n" { text.removeLast() }
      lines.append(text)
    }
    return lines
  }
}
