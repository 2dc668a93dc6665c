import Glibc
import TestSupport
import Testing

@testable import AttoGateway

@Suite("The identity of a gateway", .oneByOne) struct IdentityTests {
  private func write(_ text: String, to path: String) throws {
    let file = try #require(fopen(path, "w"))
    fputs(text, file)
    fclose(file)
  }

  @Test func anotherNameChangesNothing() throws {
    let folder = TemporaryFolder()
    let (first, problem) = GatewayIdentity.kept(in: folder.path, name: "hall", machine: [1])
    #expect(problem == nil && folder.entries == ["identity.json"])
    // As without a folder, so that a gateway that had none stays what it was.
    #expect(first.address == GatewayIdentity(name: "hall", machine: [1]).address)
    let (second, _) = GatewayIdentity.kept(in: folder.path, name: "attic", machine: [2])
    #expect(second == first)
    let (other, _) = GatewayIdentity.kept(in: TemporaryFolder().path, name: "hall", machine: [1])
    #expect(other.instance != first.instance)
  }

  @Test(arguments: ["", "{", "[]", "{}", #"{"address":"02","instance":"00000000"}"#])
  func aDamagedFileStays(_ text: String) throws {
    let folder = TemporaryFolder()
    try write(text, to: folder.file("identity.json"))
    let (identity, problem) = GatewayIdentity.kept(in: folder.path, name: "hall", machine: [1])
    #expect(identity == GatewayIdentity(name: "hall", machine: [1]))
    #expect(try #require(problem).contains("identity.json: expected the identity of a gateway"))
    let (again, _) = GatewayIdentity.kept(in: folder.path, name: "hall", machine: [1])
    #expect(again == identity)
  }

  @Test func aFolderThatIsMissing() throws {
    let (identity, problem) = GatewayIdentity.kept(in: "/nonexistent", name: "hall", machine: [1])
    #expect(identity == GatewayIdentity(name: "hall", machine: [1]) || problem != nil)
    #expect(try #require(problem).hasSuffix("No such file or directory"))
  }

  @Test(arguments: [
    ("raspberrypi", "raspberrypi"), ("hall.example.org", "hall"), ("a b", "a-b"), ("", nil),
    (".x", nil), ("---", nil), ("\u{E9}t\u{E9}", "--t--"),
    (String(repeating: "x", count: 80), String(repeating: "x", count: 64)),
  ]) func theNameOfTheHost(host: String, name: String?) {
    #expect(HostName.gatewayName(of: Array(host.utf8)) == name)
  }
}
