import AttoATT
import CAttoLinux
import Foundation
import Glibc
import TestSupport
import Testing

@testable import AttoRadio
@testable import AttoVirtualRadio

@Suite(.oneByOne) struct AirFolderTests {
  let air: Air
  init() throws { air = Air() }

  @Test func defaultPaths() {
    func path(_ environment: [String: String]) -> String {
      AirFolder.defaultPath { environment[$0] }
    }
    #expect(path(["ATTO_AIR": "/a", "XDG_RUNTIME_DIR": "/run/user/1"]) == "/a")
    #expect(path(["XDG_RUNTIME_DIR": "/run/user/1"]) == "/run/user/1/atto-air")
    #expect(path(["ATTO_AIR": "", "XDG_RUNTIME_DIR": "run"]) == "/tmp/atto-air-\(geteuid())")
    #expect(path([:]) == "/tmp/atto-air-\(geteuid())")
  }

  @Test func isCreatedForItsOwnerOnly() throws {
    let path = air.file("new")
    let folder = try AirFolder(path: path)
    var status = stat()
    #expect(lstat(path, &status) == 0 && status.st_mode & 0o7777 == 0o700)
    #expect(folder.exists)
  }

  @Test func aSymbolicLinkIsRefused() throws {
    symlink(air.path, air.file("link"))
    #expect(throws: RadioError.folder(path: air.file("link"), .symbolicLink)) {
      try AirFolder(path: air.file("link"))
    }
    symlink("/nowhere", air.file("dangling"))
    #expect(throws: RadioError.folder(path: air.file("dangling"), .symbolicLink)) {
      try AirFolder(path: air.file("dangling"))
    }
  }

  @Test(.enabled(if: geteuid() == 0, "only root can give a folder away"))
  func aForeignFolderIsRefused() throws {
    try #require(chown(air.path, 12345, 12345) == 0)
    #expect(throws: RadioError.folder(path: air.path, .foreignOwner(12345))) {
      try AirFolder(path: air.path)
    }
    chown(air.path, geteuid(), getegid())
  }

  @Test func aFolderThatIsOpenToOthersIsRefused() throws {
    for mode in [0o701, 0o704, 0o710, 0o755, 0o777] as [UInt32] {
      chmod(air.path, mode)
      let error = #expect(throws: RadioError.folder(path: air.path, .openToOthers(mode))) {
        try AirFolder(path: air.path)
      }
      #expect(
        error?.description == """
          the virtual air's folder \(air.path) is open to others (mode \(String(mode, radix: 8)))
          """)
    }
    chmod(air.path, 0o700)
  }

  @Test func filesAreForTheirOwnerOnly() async throws {
    let before = umask(0)
    defer { umask(before) }
    let radio = try air.adapter("Strap")
    let advertisement = try await radio.advertise(strap())
    let names = air.entries
    #expect(names.count == AirFolder.Part.allCases.count)
    for name in names {
      var status = stat()
      #expect(lstat(air.file(name), &status) == 0 && status.st_mode & 0o7777 == 0o600, "\(name)")
    }
    withExtendedLifetime(advertisement) {}
  }

  @Test func strangersAreKnownByTheirSocket() throws {
    var ends: [Int32] = [-1, -1]
    try #require(clinux_seqpacket_pair(&ends) == 0)
    defer { for end in ends { close(end) } }
    let own = geteuid()
    #expect(AirFolder.stranger(at: ends[0]) == nil)
    // Root may take part in any air.
    #expect(AirFolder.stranger(at: ends[0], own: own + 1) == (own == 0 ? nil : Int64(own)))
    #expect(AirFolder.stranger(at: -1) == -Int64(EBADF))
  }

  @Test func otherFilesAreRefused() throws {
    try Data().write(to: URL(fileURLWithPath: air.file("file")))
    #expect(throws: RadioError.folder(path: air.file("file"), .notFolder)) {
      try AirFolder(path: air.file("file"))
    }
    #expect(throws: RadioError.folder(path: "/nowhere/air", .system("created", errno: ENOENT))) {
      try AirFolder(path: "/nowhere/air")
    }
  }

  @Test func aLongPathWorks() async throws {
    let path = air.file(String(repeating: "x", count: 200))
    let radio = try Adapter.virtual(name: "Strap", folder: path)
    let advertisement = try await radio.advertise(strap())
    let central = try Adapter.virtual(folder: path)
    let connected = try await central.connect(to: radio.address)
    #expect(connected.peer == radio.address)
    withExtendedLifetime(advertisement) {}
  }

  @Test func names() throws {
    let parsed = try #require(AirFolder.parse("d413f6fbacef.sock"))
    #expect(parsed.address == .staticRandom(name: "Strap") && parsed.part == .socket)
    for name in [
      "", ".", "..", "d413f6fbacef", "d413f6fbacef.", "d413f6fbace.adv", "d413f6fbacef0.adv",
      "D413F6FBACEF.adv", "d413f6fbacef.ADV", ".d413f6fbacef.adv", "d413f6fbaceg.adv",
      "d413f6fbacef.adv ", "d413f6fbacef.adv.adv", "日本語日本.adv",
    ] {
      #expect(AirFolder.parse(name) == nil, "\(name)")
    }
    for name in ["", "a\nb", String(repeating: "é", count: 33), "\0"] {
      #expect(throws: RadioError.invalidName(name)) {
        try Adapter.virtual(name: name, folder: air.path)
      }
    }
  }
}

@Suite(.oneByOne) struct AirRecordTests {
  @Test func roundTrip() {
    for seed in 0..<500 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      var record = AirRecord()
      record.process = .random(in: 0 ... .max, using: &generator)
      record.name = ["", "Strap", "a name", "心"].randomElement(using: &generator)!
      record.isConnectable = .random(using: &generator)
      record.interval = .random(in: 20_000...10_240_000, using: &generator)
      record.rssi = .random(in: .min ... .max, using: &generator)
      record.advertisement = generator.octets(.random(in: 0...31, using: &generator))
      record.scanResponse = generator.octets(.random(in: 0...31, using: &generator))
      #expect(AirRecord(parsing: Array(record.text.utf8)) == record, "seed \(seed)")
    }
  }

  @Test func malformedRecordsAreRejected() {
    let good = AirRecord().text
    #expect(AirRecord(parsing: Array(good.utf8)) != nil)
    #expect(AirRecord(parsing: Array((good + "colour red\n").utf8)) != nil)
    for bad in [
      "", "atto-air 2\n", "process 1\n", good + "rssi -50\n", good + "word\n",
      good.replacing("rssi -50", with: "rssi -129"), good.replacing("rssi -50", with: "rssi"),
      good.replacing("interval 100000", with: "interval 19999"),
      good.replacing("interval 100000", with: "interval 10240001"),
      good.replacing("interval 100000", with: "interval 99999999999999999999"),
      good.replacing("connectable 1", with: "connectable 2"),
      good.replacing("process 0", with: "process -1"),
      good.replacing("advertisement ", with: "advertisement 020"),
      good.replacing("advertisement ", with: "advertisement 0x"),
      good.replacing("advertisement ", with: "advertisement " + String(repeating: "0", count: 64)),
      good.replacing("name ", with: "name " + String(repeating: "n", count: 65)),
      good + String(repeating: "#", count: 4096),
    ] {
      #expect(AirRecord(parsing: Array(bad.utf8)) == nil, "\(bad)")
    }
    for seed in 0..<5000 as Range<UInt64> {
      var generator = SplitMix64(seed: seed)
      var octets = Array(good.utf8)
      for _ in 0..<Int.random(in: 1...4, using: &generator) {
        octets[.random(in: octets.indices, using: &generator)] = UInt8.random(
          in: 0...255, using: &generator)
      }
      _ = AirRecord(parsing: octets)
      _ = AirRecord(parsing: generator.octets(.random(in: 0...300, using: &generator)))
    }
  }

  @Test func noticesAreParsedWithinTheirBounds() {
    let event: [UInt8] = [1, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0x61, 0x62, 0, 0]
    let overflow: [UInt8] = [255, 255, 255, 255, 0, 0x40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]
    #expect(
      InotifyNotice.parse((event + overflow)[...])
        == [
          .init(watch: 1, mask: 0x80, name: "ab"), .init(watch: -1, mask: 0x4000, name: ""),
        ])
    for cut in 0..<event.count { #expect(InotifyNotice.parse(event[..<cut]) == []) }
  }
}
