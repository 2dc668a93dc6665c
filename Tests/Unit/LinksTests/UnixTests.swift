import TestSupport
import AttoATT
import CAttoLinux
import Glibc
import Testing

@testable import AttoLinks

@Suite("Unix addresses", .timeLimit(.minutes(5)), .oneByOne)
struct UnixTests {
  private func failure(_ body: () throws(LinkError) -> Void) -> LinkError? {
    do throws(LinkError) {
      try body()
      return nil
    } catch {
      return error
    }
  }

  @Test("Connect, accept, both ways, and the end")
  func connect() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"))
    #expect(try listener.accept() == nil)
    let client = try folder("s").connect()
    #expect(client.peerName == "unix:\(folder.path)/s")
    let server = try #require(try listener.accept())
    #expect(try listener.accept() == nil)
    try client.send([0x02, 0x17, 0])
    #expect(try server.receive() == .pdu([0x02, 0x17, 0]))
    try server.send([0x03, 0x17, 0])
    #expect(try client.receive() == .pdu([0x03, 0x17, 0]))
    client.close()
    #expect(try server.receive() == .closed)
  }

  @Test("A connector connects in steps")
  func steps() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"))
    let connector = try SocketConnector(folder("s"))
    #expect(connector.descriptor != nil)
    #expect(try connector.start() == .connected)
    let link = try #require(try connector.finish())
    #expect(connector.descriptor == nil)
    #expect(try listener.accept() != nil)
    _ = link
  }

  @Test("200 connections wait in the queue until they are accepted")
  func queue() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"))
    let clients = try (0..<200).map { _ in try folder("s").connect() }
    var accepted: [SocketLink] = []
    while let link = try listener.accept() { accepted.append(link) }
    #expect(accepted.count == clients.count)
  }

  @Test("A full queue is reported, and accepts again later")
  func fullQueue() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"), backlog: 1)
    var clients: [SocketLink] = []
    let error = failure { () throws(LinkError) in
      for _ in 0..<10 { clients.append(try folder("s").connect()) }
    }
    #expect(error?.errno == EAGAIN)
    #expect(error?.isTransient == true)
    #expect(error?.description.contains("the server's connection queue is full") == true)
    while try listener.accept() != nil {}
    _ = try folder("s").connect()
  }

  @Test("Connecting fails where nothing listens, for a long path, and for other files")
  func connectErrors() throws {
    let folder = TemporaryFolder()
    #expect(
      failure { () throws(LinkError) in _ = try folder("none").connect() }?.description
        == "cannot connect to unix:\(folder.path)/none: no such socket (No such file or directory)")
    let long = folder(String(repeating: "x", count: 200))
    #expect(
      failure { () throws(LinkError) in _ = try long.connect() }?.reason
        == .pathTooLong(length: long.path.utf8.count, limit: 107))
    #expect(
      failure { () throws(LinkError) in _ = try UnixAddress(path: "").connect() }?.reason
        == .invalidPath)
    #expect(
      failure { () throws(LinkError) in _ = try UnixAddress(path: "a\0b").connect() }?.reason
        == .invalidPath)
    close(open(folder("file").path, O_CREAT | O_WRONLY, 0o600))
    #expect(
      failure { () throws(LinkError) in _ = try folder("file").connect() }?.reason
        == .notASocket(found: "a regular file"))
    #expect(
      failure { () throws(LinkError) in _ = try folder("file/x").connect() }?.errno == ENOTDIR)
    let datagrams = socket(AF_UNIX, CLINUX_SOCK_DGRAM, 0)
    defer { close(datagrams) }
    let path = folder("datagrams").path
    #expect(clinux_unix_bind(datagrams, path, path.utf8.count) == 0)
    #expect(
      failure { () throws(LinkError) in _ = try folder("datagrams").connect() }?.errno
        == EPROTOTYPE)
  }

  @Test("The longest path works")
  func longestPath() throws {
    let folder = TemporaryFolder()
    let room = UnixAddress.pathLimit - folder.path.utf8.count - 1
    let address = folder(String(repeating: "y", count: room))
    #expect(address.path.utf8.count == 107)
    let listener = try SocketListener(address)
    let client = try address.connect()
    #expect(try listener.accept() != nil)
    withExtendedLifetime(client) {}
  }

  @Test("A socket file whose process has died is replaced")
  func deadSocket() throws {
    let folder = TemporaryFolder()
    let dead = clinux_seqpacket_socket(AF_UNIX, 0)
    let path = folder("s").path
    #expect(clinux_unix_bind(dead, path, path.utf8.count) == 0)
    #expect(clinux_listen(dead, 1) == 0)
    close(dead)
    let refused = failure { () throws(LinkError) in _ = try folder("s").connect() }
    #expect(refused?.description.contains("nothing listens on the socket") == true)
    let listener = try SocketListener(folder("s"))
    let client = try folder("s").connect()
    #expect(try listener.accept() != nil)
    withExtendedLifetime(client) {}
  }

  @Test("A listener in use is not replaced, full or not, and neither are other files")
  func inUse() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"), backlog: 0)
    for _ in 0..<5 {
      let error = failure { () throws(LinkError) in _ = try SocketListener(folder("s")) }
      #expect(error?.reason == .alreadyListening)
    }
    while let link = try listener.accept() { link.close() }
    _ = try folder("s").connect()
    close(open(folder("file").path, O_CREAT | O_WRONLY, 0o600))
    #expect(
      failure { () throws(LinkError) in _ = try SocketListener(folder("file")) }?.reason
        == .notASocket(found: "a regular file"))
    #expect(access(folder("file").path, F_OK) == 0)
    #expect(
      failure { () throws(LinkError) in _ = try SocketListener(folder("no/s")) }?.errno == ENOENT)
  }

  @Test("The socket file has the requested mode, and is removed with its listener")
  func modeAndRemoval() throws {
    let folder = TemporaryFolder()
    for mode in [0o600, 0o666, 0o660] as [UInt32] {
      let listener = try SocketListener(folder("s"), mode: mode)
      var status = stat()
      #expect(lstat(folder("s").path, &status) == 0)
      #expect(status.st_mode & 0o777 == mode)
      listener.close()
      listener.close()
      #expect(listener.descriptor == nil)
      #expect(access(folder("s").path, F_OK) != 0)
      #expect(throws: LinkError.self) { try listener.accept() }
    }
    do { _ = try SocketListener(folder("s")) }
    #expect(access(folder("s").path, F_OK) != 0)
  }

  @Test("Whatever the umask, a socket file is at no time wider than asked for")
  func modeFromTheBeginning() throws {
    let before = umask(0)
    defer { umask(before) }
    let folder = TemporaryFolder()
    func status(_ name: String) -> (mode: UInt32, group: UInt32) {
      var status = stat()
      #expect(lstat(folder(name).path, &status) == 0)
      return (status.st_mode & 0o777, status.st_gid)
    }
    // The file has the descriptor's mode when it appears.
    let bound = clinux_seqpacket_socket(AF_UNIX, 0)
    defer { close(bound) }
    #expect(fchmod(bound, 0o600) == 0)
    let path = folder("bound").path
    #expect(clinux_unix_bind(bound, path, path.utf8.count) == 0)
    #expect(status("bound").mode == 0o600)
    let own = try SocketListener(folder("own"))
    #expect(status("own").mode == 0o600)
    let shared = try SocketListener(folder("shared"), group: getegid())
    #expect(status("shared") == (0o660, getegid()))
    withExtendedLifetime((own, shared)) {}
    // No member of this group.
    umask(0o777)
    let other: UInt32 = 54321
    do {
      let listener = try SocketListener(folder("other"), group: other)
      #expect(geteuid() == 0 && status("other") == (0o660, other))
      listener.close()
    } catch {
      #expect(error.errno == EPERM && error.hint?.contains("group") == true)
    }
    #expect(access(folder("other").path, F_OK) != 0)
  }

  @Test("A file that is no socket of this user is not opened to others in its place")
  func replacedSocketFile() throws {
    let folder = TemporaryFolder()
    close(open(folder("file").path, O_CREAT | O_WRONLY, 0o600))
    symlink(folder("file").path, folder("link").path)
    #expect(clinux_open_socket_file(folder("file").path, 0o666, -1) == -EPERM)
    #expect(clinux_open_socket_file(folder("link").path, 0o666, -1) == -EPERM)
    #expect(clinux_open_socket_file(folder("none").path, 0o666, -1) == -ENOENT)
    var status = stat()
    #expect(stat(folder("file").path, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("A listener does not remove the socket file of another")
  func removesOnlyItsOwn() throws {
    let folder = TemporaryFolder()
    let old = try SocketListener(folder("s"))
    unlink(folder("s").path)
    let new = try SocketListener(folder("s"))
    old.close()
    let client = try folder("s").connect()
    #expect(try new.accept() != nil)
    withExtendedLifetime(client) {}
  }

  @Test("A lock on the directory does not prevent listening, and no lock file is left")
  func lockedFolder() throws {
    let folder = TemporaryFolder()
    let shared = open(folder.path, O_RDONLY | O_DIRECTORY)
    defer { close(shared) }
    #expect(clinux_flock(shared, LOCK_EX) == 0)
    let listener = try SocketListener(folder("s"))
    #expect(access(folder("s").path + ".atto-lock", F_OK) != 0)
    // The lock file of a process that died is ignored; a held one means that another listens.
    listener.close()
    let lock = open(folder("s").path + ".atto-lock", O_CREAT | O_RDONLY, 0o600)
    try SocketListener(folder("s")).close()
    close(lock)
    let held = open(folder("s").path + ".atto-lock", O_CREAT | O_RDONLY, 0o600)
    defer { close(held) }
    #expect(clinux_flock(held, LOCK_EX) == 0)
    #expect(
      failure { () throws(LinkError) in _ = try SocketListener(folder("s")) }?.reason
        == .alreadyListening)
  }

  @Test("A lock that another user can hold does not prevent listening")
  func foreignLock() throws {
    let folder = TemporaryFolder()
    let path = folder("s").path + ".atto-lock"
    // A file that others can open, one with another name, and one of another user.
    for prepare: (Int32) -> Bool in [
      { fchmod($0, 0o644) == 0 }, { _ in link(path, path + "2") == 0 },
      { fchown($0, 12345, 12345) == 0 },
    ] {
      let held = open(path, O_CREAT | O_RDONLY, 0o600)
      defer { close(held) }
      guard prepare(held) else { continue }
      #expect(clinux_flock(held, LOCK_EX) == 0)
      try SocketListener(folder("s")).close()
      #expect(access(path, F_OK) == 0)
      unlink(path)
    }
  }

  @Test("Of listeners that find a dead socket at once, one listens and the others fail")
  func race() async throws {
    for _ in 0..<20 {
      let folder = TemporaryFolder()
      let path = folder("s").path
      let dead = clinux_seqpacket_socket(AF_UNIX, 0)
      #expect(clinux_unix_bind(dead, path, path.utf8.count) == 0)
      close(dead)
      let outcomes = await withTaskGroup(of: (Held?, LinkError.Reason?).self) { group in
        for _ in 0..<4 {
          group.addTask {
            do throws(LinkError) {
              let listener = try SocketListener(UnixAddress(path: path))
              // Listens for as long as the outcomes exist.
              return (Held(listener), nil)
            } catch {
              return (nil, error.reason)
            }
          }
        }
        return await group.reduce(into: []) { $0.append($1) }
      }
      #expect(outcomes.count { $0.0 != nil } == 1)
      #expect(outcomes.count { $0.1 == .alreadyListening } == 3)
    }
  }

  @Test("Out of descriptors, the connection is refused and the listener continues")
  func outOfDescriptors() throws {
    let folder = TemporaryFolder()
    let path = folder("s").path
    let listening = clinux_seqpacket_socket(AF_UNIX, 0)
    #expect(clinux_unix_bind(listening, path, path.utf8.count) == 0)
    #expect(clinux_listen(listening, 16) == 0)
    let listener = SocketListener<SocketLink>(
      OwnedDescriptor(owning: listening), endpoint: "unix:\(path)"
    ) { SocketLink($0, peerName: "a client") }
    let clients = [try folder("s").connect(), try folder("s").connect()]
    // The kernel returns EMFILE, with or without a waiting connection, until the reserve is closed.
    var calls = 0
    let full = { (socket: Int32) -> Int32 in
      calls += 1
      return calls % 2 == 1 ? -EMFILE : clinux_accept(socket)
    }
    #expect(try listener.accept(calling: full) == nil)
    #expect(listener.refused == 2)
    for client in clients { #expect(try client.receive() == .closed) }
    // Descriptors are available again.
    let third = try folder("s").connect()
    #expect(try listener.accept() != nil)
    #expect(listener.refused == 2)
    withExtendedLifetime(third) {}
  }

  @Test("Connections that have ended in the queue are skipped, unless they have left PDUs")
  func deadConnections() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"))
    let limit = SocketListener<SocketLink>.skipLimit
    for _ in 0..<limit + 1 { try folder("s").connect().close() }
    let last = try folder("s").connect()
    try last.send([0x52, 3, 0, 1])
    last.close()
    #expect(try listener.accept() == nil)
    #expect(listener.mayHaveMore)
    let left = try #require(try listener.accept())
    #expect(listener.skipped == limit + 1)
    #expect(try left.receive() == .pdu([0x52, 3, 0, 1]))
    #expect(try listener.accept() == nil)
    #expect(!listener.mayHaveMore)
  }

  @Test("The process of a peer is known") func peerProcess() throws {
    let folder = TemporaryFolder()
    let listener = try SocketListener(folder("s"))
    let client = try folder("s").connect()
    let server = try #require(try listener.accept())
    #expect(server.peerProcess == PeerProcess(user: geteuid(), number: getpid()))
    server.close()
    #expect(server.peerProcess == nil)
    withExtendedLifetime(client) {}
  }

  @Test("Lasting lack of descriptors, dead connections, and errors of the listener")
  func acceptErrors() throws {
    let folder = TemporaryFolder()
    let path = folder("s").path
    func accept(_ results: [Int32]) -> (error: LinkError?, calls: Int) {
      let listener = SocketListener<SocketLink>(
        OwnedDescriptor(owning: clinux_seqpacket_socket(AF_UNIX, 0)), endpoint: path
      ) { SocketLink($0, peerName: "a client") }
      var calls = 0
      let error = failure { () throws(LinkError) in
        _ = try listener.accept { _ in
          calls += 1
          return results[min(calls, results.count) - 1]
        }
      }
      return (error, calls)
    }
    #expect(accept([-EMFILE]) == (LinkError(.accept, .system(EMFILE), endpoint: path), 2))
    #expect(accept([-ECONNABORTED, -EINTR, -EPROTO, -EAGAIN]) == (nil, 4))
    #expect(accept([-ECONNABORTED]) == (nil, SocketListener<SocketLink>.skipLimit))
    #expect(accept([-EINVAL]) == (LinkError(.accept, .system(EINVAL), endpoint: path), 1))
    #expect(accept([-ENOMEM]).error?.isTransient == true)
  }
}

/// Keeps a listener open. `@unchecked Sendable`: it is not used again.
private final class Held: @unchecked Sendable {
  let listener: SocketListener<SocketLink>
  init(_ listener: SocketListener<SocketLink>) { self.listener = listener }
}

@Suite("Bluetooth", .oneByOne)
struct BluetoothTests {
  @Test("Addresses are parsed and formatted")
  func addresses() throws {
    let address = BluetoothAddress("aa:BB:0c:DD:eE:0F/random")
    #expect(address == BluetoothAddress(0xAABB_0CDD_EE0F, kind: .random))
    #expect(address?.description == "AA:BB:0C:DD:EE:0F/random")
    #expect(address?.littleEndian == [0x0F, 0xEE, 0xDD, 0x0C, 0xBB, 0xAA])
    #expect(
      BluetoothAddress(littleEndian: [0x0F, 0xEE, 0xDD, 0x0C, 0xBB, 0xAA], kind: .random)
        == address)
    #expect(BluetoothAddress("00:00:00:00:00:01/public")?.description == "00:00:00:00:00:01")
    for wrong in [
      "", "AA:BB:CC:DD:EE", "AA:BB:CC:DD:EE:FF:00", "AA:BB:CC:DD:EE:+F", "AA:BB:CC:DD:EE:F",
      "AA-BB-CC-DD-EE-FF", "AA:BB:CC:DD:EE:FF/", "AA:BB:CC:DD:EE:FF/static",
      "AA:BB:CC:DD:EE:FF/random/x", "GG:BB:CC:DD:EE:FF", "AA:BB:CC:DD:EE:FF ",
    ] {
      #expect(BluetoothAddress(wrong) == nil, "\(wrong)")
    }
    #expect(BluetoothAddress(littleEndian: [1, 2, 3], kind: .public) == nil)
    let parsed = try #require(address)
    #expect(
      L2CAPAddress(parsed, source: .adapter(1)).description
        == "le:AA:BB:0C:DD:EE:0F/random@hci1")
  }

  @Test("The declared Bluetooth ABI has the kernel's sizes and numbers")
  func layout() {
    #expect(MemoryLayout<clinux_sockaddr_l2>.size == 14)
    #expect(MemoryLayout<clinux_sockaddr_hci>.size == 6)
    #expect(MemoryLayout<clinux_bt_security>.size == 2)
    #expect(MemoryLayout<clinux_hci_dev_info>.size == 92)
    #expect(BDADDR_LE_PUBLIC == Int32(BluetoothAddress.Kind.public.rawValue))
    #expect(BDADDR_LE_RANDOM == Int32(BluetoothAddress.Kind.random.rawValue))
    #expect(SOL_BLUETOOTH == 274)
  }

  @Test("Without Bluetooth in the kernel, the error names the cause and has a hint")
  func noBluetooth() throws {
    let probe = clinux_seqpacket_socket(AF_BLUETOOTH, BTPROTO_L2CAP)
    guard probe == -EAFNOSUPPORT else {
      // This machine has Bluetooth; the texts are tested below.
      if probe >= 0 { close(probe) }
      return
    }
    let peer = BluetoothAddress(0xAABB_CCDD_EEFF)
    #expect {
      _ = try SocketConnector(L2CAPAddress(peer))
    } throws: {
      "\($0)".hasPrefix(
        "cannot open a socket for le:AA:BB:CC:DD:EE:FF: the kernel has no Bluetooth")
        && ($0 as? LinkError)?.hint?.contains("air:") == true
    }
    #expect(throws: LinkError(.open, .system(EAFNOSUPPORT), endpoint: "le:")) {
      _ = try SocketListener(l2cap: .any)
    }
  }

  @Test(
    "Errors of a Bluetooth link explain the cause or have a hint",
    arguments: [
      (ECONNREFUSED, "kind of address"), (EBUSY, "bluetoothd"),
      (EHOSTUNREACH, "no adapter is powered on"), (EBADE, "remove the bond"),
      (ENODEV, "no such adapter"),
    ])
  func texts(errno: Int32, expected: String) {
    let error = LinkError(.connect, .system(errno), endpoint: "le:AA:BB:CC:DD:EE:FF")
    #expect((error.description + (error.hint ?? "")).contains(expected))
  }
}
