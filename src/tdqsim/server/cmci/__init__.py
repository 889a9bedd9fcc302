"""The management interface (CMCI): ``/CICSSystemManagement`` on the port of the HTTP listener.

Management clients list, inquire, change and install resources by it: Ansible (``ibm.ibm_zos_cics``), the Zowe command
line and SDK, CICS Explorer. They name a resource, a context (the APPLID of a region, or the plex of all regions that
are served) and a scope, and get an XML document. The names of resources, their attributes, actions, codes and messages
are tables: ``facts/cmci_*.tsv``.

==============  ======================================================================================================
``tables``      the resources with their attributes and actions
``criteria``    CRITERIA as a predicate of a record; ORDERBY
``requests``    the URI and the body of a request
``reading``     the records of a resource, in turns of the engine, without a task
``acting``      actions, updates and discards, each as a task of the user
``cache``       retained result sets
``answers``     the XML documents
``signing``     basic authentication and the LtpaToken2 cookie
``serving``     the route
==============  ======================================================================================================
"""
