// libpcap can also capture what goes over a D-Bus. Its archive would bring libdbus, and that one
// libsystemd, of which Debian has no archive; without these two functions the linker leaves all
// that out. See capture_source_types in libpcap's pcap.c.
struct pcap;
struct pcap_if_list;

extern "C" {

int dbus_findalldevs(pcap_if_list* /*devices*/, char* /*problem*/) { return 0; }

pcap* dbus_create(const char* /*device*/, char* /*problem*/, int* is_ours) {
  *is_ours = 0;
  return nullptr;
}

}  // extern "C"
